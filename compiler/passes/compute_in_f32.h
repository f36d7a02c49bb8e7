#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// The 16-bit type that the model's contractions (products, convolutions, recurrent layers, attention) compute in, the
/// first one found; undefined: none does.
DType half_contractions(const Graph& graph);

/// A model that was exported in f16 or bf16 computes in f32: its inputs are widened, its outputs rounded, constants
/// converted, and everything between is f32, as the kernels of contractions are. What CPUs multiply fastest is f32;
/// GPUs round storage and factors to 16 bits again (narrow_storage), CPUs constant factors (narrow_weights), with sums
/// in f32. Less is rounded than the model says: values between nodes keep their digits, and what would overflow 65504
/// does not.
///
/// Requires: types are inferred.  Ensures: if a contraction had factors of 16 bits, no value between inputs and outputs
/// has. Before: everything that asks for f32. Example: y = MatMul(x, w), all f16   ->   y = Cast(MatMul(Cast(x),
/// f32(w))) Unchanged: models without such contractions, models that look at the bits (BitCast) of 16-bit values.
bool compute_in_f32(Graph& graph);

}  // namespace gcg
