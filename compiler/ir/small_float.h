// Encodings of floats of 8 and 4 bits.
#pragma once

#include <cstdint>

#include "compiler/ir/dtype.h"

namespace gcg {

/// From the top: sign, exponent, mantissa. Without infinities, the largest exponent encodes ordinary numbers.
struct SmallFloat {
  int exponent_bits, mantissa_bits, bias;
  uint8_t largest;   // bits of the largest finite number
  uint8_t infinity;  // bits that stand for positive infinity; 0: there is none
  uint8_t nan;       // bits of one NaN; 0: there is none
  bool negative_zero;
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
};
/// Requires: is_small_float(dtype).
const SmallFloat& small_float(DType dtype);

double small_float_value(DType dtype, uint8_t bits);
/// The nearest number; ties go to even. Larger values become the largest number or, without `saturate`, infinity or
/// NaN.
uint8_t small_float_bits(DType dtype, double value, bool saturate);

}  // namespace gcg
