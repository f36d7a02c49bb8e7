// Pass: narrow_storage (target pass, CUDA with --precision fp16 or bf16).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Marks f32 values to be stored in 16 bits (Value::stored) where they need storage. This halves the bytes to move, and
/// tensor cores take such operands directly. Nothing else changes: kernels compute in f32, and fused values are never
/// rounded.
///
/// The pass marks activations and weights of chains of matrix products, convolutions, pointwise operators, softmax,
/// normalisation, pooling and movement. These are not marked:
///   * inputs and outputs of graphs and subgraphs, and values that share their storage: they have the model's types;
///   * integers, and floats made of them: positions and coordinates are exact only up to 2048;
///   * values with large factors or terms (masks of -1e9, -infinity): f16 ends at 65504. A softmax or another bounded
///     function removes this limit again;
///   * powers, exponentials, sums and variances: their range is the square of the activations' range;
///   * sums of two activations that are terms of the next such sum and that no product reads. This is the residual
///     stream of a transformer: it grows with the depth, would be rounded once per layer, and is small compared with
///     the weights. The sums of convolutional networks are marked, because convolutions read them. So are those of
///     BERT, which only a normalisation reads;
///   * values of models without products, and values that an operator outside the chain reads.
///
/// Only two kinds of constants are marked: multiplicands, and addends that are added only to products.
///
/// Requires: weights are constants in their final order.
/// Ensures: only marks change. No input, output or integer has one.
/// Example: MatMul(Relu(MatMul(x, w)), v) -> MatMul(Relu(MatMul(x, w as f16)) as f16, v as f16)
bool narrow_storage(Graph& graph, const Target& target);

}  // namespace gcg
