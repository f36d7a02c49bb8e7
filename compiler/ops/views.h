// Shapes of the views: what inference computes for Reshape and its kin.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ops/op_def.h"

namespace gcg {

/// Axes from an optional integer input: normalised, ascending, distinct. Fails when they are not compile-time
/// constants.
std::vector<int64_t> axes_input(const InferContext& ctx, int i, int64_t rank);
/// The contents of input 0 on output 0: for views, whose elements and order do not change.
void keep_contents(InferContext& ctx);

/// ctx.input(0, ...) at the element that `at` is in the viewed shape.
Expr lower_view(LowerContext& ctx, int output, const std::vector<Expr>& at);

}  // namespace gcg
