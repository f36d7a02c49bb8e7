// Pass: transpose_weights (target pass, CUDA).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Stores constant right operands of matrix products by columns: [..., N, K], where tensor cores' warpgroups take tf32
/// only so, and products of few rows read 16 bytes of a column at once (codegen/cuda/contractions/vector_product.h).
/// All products that share a matrix read the same constant, and a Transpose between is seen through when kernels are
/// made.
///
/// Turned are matrices of f32 of which no product's depth ends within 16 bytes: on sm_90a all, on other GPUs with
/// 16-bit products those that products of few rows alone read.
///
/// Requires: Gemm has become MatMul; constants are folded, and will not be again. Before: narrow_storage.
/// Example: MatMul(x, w[K, N]) -> MatMul(x, Transpose(w'[N, K]))
bool transpose_weights(Graph& graph, const Target& target);

}  // namespace gcg
