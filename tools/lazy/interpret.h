// Interprets a cut node by node with the operators' reference functions, for the first answer.
#pragma once

#include <vector>

#include "tools/lazy/cut.h"

namespace gcc_graph::lazy {

/// The cost of interpreting, in element operations; negative if an operator has no reference function.
double interpreter_work(const Cut& cut);

/// Returns the values of the cut's results. Throws Failure that names the operator's source.
std::vector<Buffer*> interpret(const Cut& cut);

}  // namespace gcc_graph::lazy
