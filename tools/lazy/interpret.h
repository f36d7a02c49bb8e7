// The first answer: node by node through the operators' references.
#pragma once

#include <vector>

#include "tools/lazy/cut.h"

namespace gcc_graph::lazy {

/// What that takes, in element operations; negative where an operator has no reference.
double interpreter_work(const Cut& cut);

/// The values of the cut's results. Throws Failure naming the operator's source.
std::vector<Buffer*> interpret(const Cut& cut);

}  // namespace gcc_graph::lazy
