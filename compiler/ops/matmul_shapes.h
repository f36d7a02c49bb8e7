// The shapes of a matrix product, for all operators that multiply as numpy.matmul does.
#pragma once

#include "compiler/ops/op_support.h"

namespace gcg {

struct MatMulShapes {
  Shape a, b;  // at least two dimensions each: [batch..., M, K] and [batch..., K, N]
  Shape result;
};

/// The shapes for inputs 0 and 1. A 1-D left operand is a row, a 1-D right operand a column; that dimension is dropped
/// from the result. Fails if an operand has no dimension, inner extents differ, or batches do not broadcast.
MatMulShapes matmul_shapes(InferContext& ctx);

}  // namespace gcg
