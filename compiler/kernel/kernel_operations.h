// Counts a kernel's operations, for reports. The result is an expression over the symbols and the same for every
// target.
#pragma once

#include "compiler/kernel/kernel.h"

namespace gcg {

/// Arithmetic operations on elements. A multiply-add counts as two, a function (exp) as one, index arithmetic as none.
/// Operations of a window or a contraction on padding count. A program's loop that ends on a condition counts one
/// iteration. 0: not known, because the product of the extents has too many terms.
Dim kernel_operations(const Kernel& kernel);

/// The number of products whose sum is one element of a contraction's result. Symbolic extents have typical values.
double products_per_element(const MatMulKernel& k);
double products_per_element(const ConvKernel& k);
double products_per_element(const PlainConvKernel& k);
double products_per_element(const AttentionKernel& k);

}  // namespace gcg
