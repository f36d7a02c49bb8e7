// Operands that a kernel does not use.
#pragma once

#include <functional>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// Removes the operands that no expression and no view refers to and renumbers the others; none is the flat view of
/// another any more. Returns the positions they had before, in their new order.
std::vector<size_t> drop_unused_operands(Kernel& kernel);

/// Makes every expression and every view refer to operand number(i) instead of operand i.
void renumber_operands(Kernel& kernel, const std::function<int(int)>& number);

}  // namespace gcg
