#include "compiler/ops/small_types.h"

#include <cmath>
#include <limits>

#include "compiler/ir/small_float.h"

namespace gcg {
namespace {

Expr f32(double v) { return constant_float(DType::f32, v); }
Expr i32(int64_t v) { return constant_int(DType::i32, v); }
Expr is(const Expr& a, int64_t v) { return binary(BinaryOp::equal, a, i32(v)); }

/// 2^exponent * scale, for an exponent in [0, 2^bits).
Expr scaled(const Expr& exponent, int bits, double scale) {
  Expr result = f32(scale);
  for (int b = 0; b < bits; ++b) {
    const Expr set = binary(BinaryOp::not_equal, binary(BinaryOp::bit_and, exponent, i32(int64_t{1} << b)), i32(0));
    result = result * select(set, f32(std::ldexp(1, 1 << b)), f32(1));
  }
  return result;
}

Expr float_value(const SmallFloat& f, const Expr& stored) {
  const int64_t sign_bit = int64_t{1} << (f.exponent_bits + f.mantissa_bits);
  const Expr bits = cast(DType::i32, stored), magnitude = binary(BinaryOp::bit_and, bits, i32(sign_bit - 1));
  const Expr mantissa = binary(BinaryOp::bit_and, magnitude, i32((int64_t{1} << f.mantissa_bits) - 1));
  const Expr exponent = binary(BinaryOp::shift_right, magnitude, i32(f.mantissa_bits));
  const Expr subnormal = is(exponent, 0);
  const Expr encoded = select(subnormal, mantissa, mantissa + i32(int64_t{1} << f.mantissa_bits));
  const Expr power = binary(BinaryOp::max, exponent - i32(1), i32(0));
  Expr value = cast(DType::f32, encoded) * scaled(power, f.exponent_bits, std::ldexp(1, 1 - f.bias - f.mantissa_bits));
  const Expr nan = f32(std::numeric_limits<double>::quiet_NaN());
  if (f.infinity != 0) value = select(is(magnitude, f.infinity), f32(std::numeric_limits<double>::infinity()), value);
  const int64_t beyond = f.infinity != 0 ? f.infinity : f.largest;
  if (beyond < sign_bit - 1) value = select(binary(BinaryOp::greater, magnitude, i32(beyond)), nan, value);
  const Expr negative = binary(BinaryOp::not_equal, binary(BinaryOp::bit_and, bits, i32(sign_bit)), i32(0));
  value = select(negative, unary(UnaryOp::neg, value), value);
  return f.negative_zero ? value : select(is(bits, sign_bit), nan, value);
}

/// The exponent is found by bisection: y in [0, 2) and e >= 0 with |x| = y * 2^(e + 1 - bias). Then e * 2^mantissa_bits
/// + round(y * 2^mantissa_bits) are the bits of the magnitude: a mantissa that rounds up carries into the exponent.
Expr float_element(const SmallFloat& f, const Expr& x, bool saturate) {
  Expr y = unary(UnaryOp::abs, x) * f32(std::ldexp(1, f.bias - 1)), e = i32(0);
  for (int b = f.exponent_bits; b-- > 0;) {
    const Expr large = binary(BinaryOp::greater_equal, y, f32(std::ldexp(1, 1 << b)));
    y = select(large, y * f32(std::ldexp(1, -(1 << b))), y);
    e = select(large, e + i32(int64_t{1} << b), e);
  }
  // Values that are still large (infinities) are limited, so that scaling does not overflow.
  const Expr rounded =
      unary(UnaryOp::round_even, binary(BinaryOp::min, y, f32(1e6)) * f32(std::ldexp(1, f.mantissa_bits)));
  const Expr bits = e * i32(int64_t{1} << f.mantissa_bits) + cast(DType::i32, rounded);
  const int64_t sign_bit = int64_t{1} << (f.exponent_bits + f.mantissa_bits);
  const Expr inverse = binary(BinaryOp::div, f32(1), x);
  const Expr negative =
      binary(BinaryOp::logical_or, binary(BinaryOp::less, x, f32(0)), binary(BinaryOp::less, inverse, f32(0)));
  const Expr sign = select(negative, i32(sign_bit), i32(0));
  const Expr beyond = binary(BinaryOp::greater, bits, i32(f.largest));
  Expr result = sign + binary(BinaryOp::min, bits, i32(f.largest));
  if (!saturate && (f.infinity != 0 || f.nan != 0)) {
    const int64_t code = f.infinity != 0 ? f.infinity : f.nan;
    result = select(beyond, code == sign_bit ? i32(code) : sign + i32(code), result);
  }
  if (!f.negative_zero) result = select(is(bits, 0), i32(0), result);
  return cast(DType::u8, select(unary(UnaryOp::is_nan, x), i32(f.nan != 0 ? f.nan : sign_bit), result));
}

/// The low bits, zero- or sign-extended.
Expr low_bits(DType dtype, const Expr& encoded) {
  const int bits = small_int_bits(dtype);
  if (storage_dtype(dtype) == DType::u8) return binary(BinaryOp::bit_and, encoded, i32((int64_t{1} << bits) - 1));
  return binary(BinaryOp::shift_right, binary(BinaryOp::shift_left, encoded, i32(32 - bits)), i32(32 - bits));
}

}  // namespace

Expr small_value(DType dtype, const Expr& stored) {
  if (is_small_float(dtype)) return float_value(small_float(dtype), stored);
  return small_int_bits(dtype) > 0 ? low_bits(dtype, cast(DType::i32, stored)) : stored;
}

Expr small_element(DType dtype, const Expr& value, bool saturate) {
  if (is_small_float(dtype)) return float_element(small_float(dtype), cast(DType::f32, value), saturate);
  return cast(storage_dtype(dtype), low_bits(dtype, cast(DType::i32, value)));
}

}  // namespace gcg
