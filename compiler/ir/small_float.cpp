#include "compiler/ir/small_float.h"

#include <cmath>
#include <limits>

#include "compiler/support/error.h"

namespace gcg {

const SmallFloat& small_float(DType dtype) {
  static constexpr SmallFloat e4m3fn = {4, 3, 7, 0x7e, 0, 0x7f, true}, e4m3fnuz = {4, 3, 8, 0x7f, 0, 0x80, false},
                              e5m2 = {5, 2, 15, 0x7b, 0x7c, 0x7e, true}, e5m2fnuz = {5, 2, 16, 0x7f, 0, 0x80, false},
                              e2m1 = {2, 1, 1, 0x7, 0, 0, true};
  switch (dtype) {
    case DType::f8e4m3fn:
      return e4m3fn;
    case DType::f8e4m3fnuz:
      return e4m3fnuz;
    case DType::f8e5m2:
      return e5m2;
    case DType::f8e5m2fnuz:
      return e5m2fnuz;
    case DType::f4e2m1:
      return e2m1;
    default:
      GCG_CHECK(false, name_of(dtype), " is not a small float");
  }
}

double small_float_value(DType dtype, uint8_t bits) {
  const SmallFloat& f = small_float(dtype);
  const int sign_bit = 1 << (f.exponent_bits + f.mantissa_bits), magnitude = bits & (sign_bit - 1);
  const bool negative = (bits & sign_bit) != 0;
  if (!f.negative_zero && bits == sign_bit) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude > f.largest) {
    if (f.infinity == 0 || magnitude != f.infinity) return std::numeric_limits<double>::quiet_NaN();
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  const int exponent = magnitude >> f.mantissa_bits, mantissa = magnitude & ((1 << f.mantissa_bits) - 1);
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << f.mantissa_bits);
  const double value = std::ldexp(whole, (exponent == 0 ? 1 : exponent) - f.bias - f.mantissa_bits);
  return negative ? -value : value;
}

uint8_t small_float_bits(DType dtype, double value, bool saturate) {
  const SmallFloat& f = small_float(dtype);
  const auto sign_bit = static_cast<uint8_t>(1 << (f.exponent_bits + f.mantissa_bits));
  const bool keeps_zero_sign = f.negative_zero;
  if (std::isnan(value)) return f.nan != 0 ? f.nan : sign_bit;
  const uint8_t sign = std::signbit(value) ? sign_bit : 0;
  const double magnitude = std::fabs(value), largest = small_float_value(dtype, f.largest);
  const double beyond = largest + (largest - small_float_value(dtype, static_cast<uint8_t>(f.largest - 1))) / 2;
  uint8_t best = f.largest;
  if (magnitude > beyond || (magnitude == beyond && (f.largest & 1) != 0)) {
    if (!saturate && f.infinity != 0) return sign | f.infinity;
    if (!saturate && f.nan != 0) return f.nan == 0x80 ? f.nan : sign | f.nan;
  } else {
    for (int bits = f.largest; bits >= 0; --bits) {
      const double distance = std::fabs(small_float_value(dtype, static_cast<uint8_t>(bits)) - magnitude);
      const double least = std::fabs(small_float_value(dtype, best) - magnitude);
      if (distance < least || (distance == least && bits % 2 == 0)) best = static_cast<uint8_t>(bits);
    }
  }
  return best == 0 && !keeps_zero_sign ? uint8_t{0} : static_cast<uint8_t>(sign | best);
}

}  // namespace gcg
