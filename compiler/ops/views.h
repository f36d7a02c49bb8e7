// Shapes of the views, as inference computes them for Reshape and similar operators.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ops/op_def.h"

namespace gcg {

/// Axes from an optional integer input: normalised, ascending, distinct. Fails if they are not compile-time constants.
std::vector<int64_t> axes_input(const InferContext& ctx, int i, int64_t rank);
/// Copies the contents of input 0 to output 0; for views, which keep elements and order.
void keep_contents(InferContext& ctx);

/// The element of input 0 that is at index `at` in the viewed shape.
Expr lower_view(LowerContext& ctx, int output, const std::vector<Expr>& at);

}  // namespace gcg
