// How much a kernel computes, for reports: in the symbols, the same for every target.
#pragma once

#include "compiler/kernel/kernel.h"

namespace gcg {

/// Arithmetic operations on elements; a multiply-add counts as two, a function (exp) as one, index arithmetic not at
/// all. What of a window or a contraction falls on padding counts; of programs' loops that end on a condition one turn
/// does. 0: not known, because extents are sums of so many terms that their product has too many.
Dim kernel_operations(const Kernel& kernel);

}  // namespace gcg
