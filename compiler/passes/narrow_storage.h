// Pass: narrow_storage (target pass, CUDA with --precision fp16 or bf16).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Marks f32 values to be stored in 16 bits (Value::stored) where they get storage: half the bytes to move, and
/// operands that tensor cores take as they are. Nothing else changes: kernels compute in f32, and what is fused away is
/// never rounded.
///
/// Marked are activations and weights of chains of matrix products, convolutions, pointwise operators, softmax,
/// normalisation, pooling and movement. Not marked are
///   * inputs and outputs of graphs and bodies, and what shares their storage: their types are the model's;
///   * integers, and floats made of them: positions and coordinates are exact only up to 2048;
///   * values with large factors or terms (masks of -1e9, -infinity): f16 ends at 65504. A softmax or another bounded
///     function takes the range away again;
///   * powers, exponentials, sums and variances: their range is the square of that of activations;
///   * sums of two activations that are terms of the next such sum and that no product reads: the residual stream of a
///     transformer grows with its depth, is rounded once per layer otherwise, and its bytes are few beside those of
///     weights. Those of convolutional networks are read by convolutions, those of BERT by a normalisation only, and
///     marked;
///   * what a model without products computes, and what an operator outside of the chain reads.
///
/// Of constants, factors are marked and what is added to products alone.
///
/// Requires: weights are constants in their final order.
/// Example: MatMul(Relu(MatMul(x, w)), v) -> MatMul(Relu(MatMul(x, w as f16)) as f16, v as f16)
bool narrow_storage(Graph& graph, const Target& target);

}  // namespace gcg
