// Removes and renumbers a kernel's operands.
#pragma once

#include <functional>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// Removes the operands that no expression and no view refers to, and renumbers the others. Afterwards no operand is
/// the flat view of another. Returns the old positions of the operands, in their new order.
std::vector<size_t> drop_unused_operands(Kernel& kernel);

/// Makes every expression and every view refer to operand number(i) instead of operand i.
void renumber_operands(Kernel& kernel, const std::function<int(int)>& number);

}  // namespace gcg
