// Pass: lower_integers (target pass).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Lowers products and convolutions of 8-bit integers to the forms that kernels compute. On CPUs, products and
/// convolutions by constants become u8 by i8 without zero points. The zero points' part of the sums is subtracted
/// afterwards, and a convolution pads with the zero point. All others are computed in floats. So are convolutions with
/// less than a block of channels, unless each channel is a group. The type is f32 if it holds the sums exactly (up to
/// 258 products of 8 bits), or if only floats read the sums. Deeper convolutions use f64.
///
/// A constant right operand minus its zero point lies within [-255, 255]. If it does not fit a byte, the product
/// becomes two products: by its halves and by its lowest bits.
///
/// Requires: constants are folded. Operands and zero points have 8 bits.
/// Ensures: the only ConvIntegers left are those that block_channels takes. No MatMulInteger is left that a float
///   product can replace. On CPUs, no MatMulInteger by a constant matrix is left.
/// Before: block_channels and pack_conv_weights, which make kernels of the convolutions, and fold_constants, which
///   packs weights.
/// Example: MatMulInteger(a, B, 3) -> Add(gart.PackedMatMul(a, gart.PackMatMul(B)), {-3 * sums of B's columns})
bool lower_integers(Graph& graph, const Target& target);

}  // namespace gcg
