// Axes that are only known at run time. Expressions over a vector of axes tell which dimensions it names.
#pragma once

#include "compiler/ops/op_def.h"

namespace gcg {

/// True if element `a` of the axes (integer input `i`) is dimension `d` of `rank`. Negative axes count from the end.
Expr names_axis(LowerContext& ctx, int i, int64_t a, int64_t d, int64_t rank);
/// True if the axes name dimension `d`. Requires: the number of axes is a constant.
Expr is_named(LowerContext& ctx, int i, int64_t d, int64_t rank);
/// The number of named dimensions before `d`.
Expr named_before(LowerContext& ctx, int i, int64_t d, int64_t rank);
/// The extent of the `j`-th dimension of `shape` that is not named.
Expr unnamed_extent(LowerContext& ctx, int i, const Shape& shape, int64_t j);

}  // namespace gcg
