// Axes that are only known at run time: which dimensions a vector of axes names, as expressions over its elements.
#pragma once

#include "compiler/ops/op_def.h"

namespace gcg {

/// Is element `a` of the axes (integer input `i`) dimension `d` of `rank`? Negative axes count from the end.
Expr names_axis(LowerContext& ctx, int i, int64_t a, int64_t d, int64_t rank);
/// Is dimension `d` named at all? Requires: the number of axes is a number.
Expr is_named(LowerContext& ctx, int i, int64_t d, int64_t rank);
/// How many dimensions before `d` are named.
Expr named_before(LowerContext& ctx, int i, int64_t d, int64_t rank);
/// The extent of the dimension of `shape` that is number `j` of those that are not named.
Expr unnamed_extent(LowerContext& ctx, int i, const Shape& shape, int64_t j);

}  // namespace gcg
