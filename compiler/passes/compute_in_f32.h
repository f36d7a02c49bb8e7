#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// The 16-bit type of the first contraction of the model (product, convolution, recurrent layer, attention) that has
/// one. Undefined if none has.
DType half_contractions(const Graph& graph);

/// Makes a model that was exported in f16 or bf16 compute in f32, as the contraction kernels do. Inputs are widened,
/// outputs are rounded, constants are converted. CPUs multiply f32 fastest. GPUs later round storage and multiplicands
/// to 16 bits again (narrow_storage), CPUs only constant multiplicands (narrow_weights); both sum in f32. The result is
/// more exact than the model specifies: values between nodes keep their digits, and values above 65504 do not overflow.
///
/// Requires: types are inferred.
/// Ensures: if a contraction had 16-bit factors, no value between inputs and outputs has 16 bits.
/// Before: all passes that look for f32.
/// Example: y = MatMul(x, w), all f16   ->   y = Cast(MatMul(Cast(x), f32(w)))
/// Unchanged: models without such contractions, and models that read the bits (BitCast) of 16-bit values.
bool compute_in_f32(Graph& graph);

}  // namespace gcg
