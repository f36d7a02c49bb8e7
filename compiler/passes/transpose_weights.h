// Pass: transpose_weights (target pass, CUDA).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Stores constant right operands of matrix products by columns: [..., N, K]. Warpgroup tensor-core instructions take
/// tf32 only in this order. Products of few rows read 16 bytes of a column at once
/// (codegen/cuda/contractions/vector_product.h). All products that share a matrix read the same constant. Kernel
/// creation sees through a Transpose in between.
///
/// The pass takes f32 matrices whose products all have a depth that fills whole 16-byte units. On sm_90a it takes all
/// of them. On other GPUs with 16-bit products, it takes only matrices whose products all have few rows.
///
/// Requires: Gemm has become MatMul; constants are folded, and are not folded again.
/// Ensures: a constant that changed has one copy, in the new order. No result changes.
/// Before: narrow_storage.
/// Example: MatMul(x, w[K, N]) -> MatMul(x, Transpose(w'[N, K]))
bool transpose_weights(Graph& graph, const Target& target);

}  // namespace gcg
