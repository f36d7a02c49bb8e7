// Finds the operands that a kernel's result may overwrite.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/kernel.h"

namespace gcg {

/// Operands whose storage the kernel's result may reuse. `storages`: one entry per operand.
std::vector<int> in_place_operands(const Kernel& kernel, const std::vector<ValueId>& storages);

}  // namespace gcg
