// Pass: lower_integers (target pass).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Gives products and convolutions of 8-bit integers the forms that kernels compute. On CPUs those by constants become
/// u8 by i8 without zero points, whose part of the sums is subtracted from them after; a convolution pads with the
/// zero point. Everything else, also less than a block of channels unless each is a group of its own, is computed in
/// floats: f32, which holds the sums of 258 products of 8 bits exactly, or where only floats read the sums; f64 for
/// deeper convolutions.
///
/// A constant right operand less its zero point lies within [-255, 255]: where a byte does not hold it, it becomes two
/// products, by its halves and by its lowest bits.
///
/// Requires: constants are folded. Operands and zero points have 8 bits.
/// Ensures: no ConvInteger but those that block_channels takes is left, no MatMulInteger by a constant matrix on CPUs,
/// nor one
///   that a float product stands for.
/// Before: block_channels and pack_conv_weights, which make kernels of the convolutions, and fold_constants, which
/// packs weights. Example: MatMulInteger(a, B, 3) -> Add(gart.PackedMatMul(a, gart.PackMatMul(B)), {-3 * sums of B's
/// columns})
bool lower_integers(Graph& graph, const Target& target);

}  // namespace gcg
