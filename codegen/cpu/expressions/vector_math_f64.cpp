// Elementary functions of doubles. The exponential's polynomial interpolates at Chebyshev nodes; its relative error is
// 2^-55.
#include "codegen/cpu/expressions/vector_math_f64.h"

#include <cmath>
#include <limits>

namespace gcg::cpu {
namespace {

using llvm::Value;

constexpr double kBias = 1023;

/// n and r with x = n ln 2 / `parts` + r. |r| <= ln 2 / (2 `parts`).
struct Reduced {
  Value* shifted;  // n + the exponent's bias + Math::round()
  Value* n;
  Value* r;
};

Reduced reduce(Math& m, Value* x, double parts) {
  Value* shifted = m.fma(x, m.num(0x1.71547652b82fep+0 * parts), m.num(m.round() + kBias));  // 1 / ln 2
  Value* n = m.sub(shifted, m.num(m.round() + kBias));
  Value* r = m.fma(n, m.num(-0x1.62e42fefa39efp-1 / parts), x);
  return {shifted, n, m.fma(n, m.num(-0x1.abc9e3b39803fp-56 / parts), r)};
}

/// 2^n for n in [-1022, 1023].
Value* power_of_two(Math& m, Value* shifted) {
  return m.as_float(m.ir().CreateShl(m.as_int(shifted), m.integer(52)));  // the shift removes the bits of round()
}

/// exp(r) = 1 + r + r^2 p(r) for |r| <= ln(2) / 2.
Value* tail_of_exp(Math& m, Value* r) {
  return m.polynomial(r, {0x1.0000000000001p-1, 0x1.5555555555556p-3, 0x1.5555555553d63p-5, 0x1.11111111109b3p-7,
                          0x1.6c16c1788bd9p-10, 0x1.a01a01a7c41d5p-13, 0x1.a019b90d2ae7ap-16, 0x1.71de0dae63bb3p-19,
                          0x1.289185613a3d6p-22, 0x1.af38a9b0ec855p-26});
}

}  // namespace

llvm::Value* emit_exp_f64(Math& m, llvm::Value* x) {
  // Two factors of half the exponent each keep subnormal results, and round once. The limits give 0 and inf.
  const Reduced e = reduce(m, m.at_least(m.at_most(x, 710), -746), 1);
  Value* mantissa = m.add(m.fma(m.mul(e.r, e.r), tail_of_exp(m, e.r), e.r), m.num(1));
  Value* half = m.add(m.fma(e.n, m.num(0.5), m.num(m.round())), m.num(kBias));
  Value* low = m.sub(half, m.num(m.round() + kBias));
  Value* rest = m.add(m.sub(e.n, low), m.num(m.round() + kBias));
  return m.mul(m.mul(mantissa, power_of_two(m, half)), power_of_two(m, rest));
}

/// The algorithm and the coefficients are fdlibm's.
llvm::Value* emit_log_f64(Math& m, llvm::Value* x) {
  llvm::IRBuilder<>& ir = m.ir();
  // x = 2^n * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); subnormal numbers are made normal first.
  constexpr int64_t kRootOfHalf = 0x3fe6a09e667f3bcd;
  Value* tiny = ir.CreateFCmpOLT(x, m.num(0x1p-1022));
  Value* normal = ir.CreateSelect(tiny, m.mul(x, m.num(0x1p54)), x);
  Value* bits = ir.CreateSub(m.as_int(normal), m.integer(kRootOfHalf));
  Value* f =
      m.sub(m.as_float(ir.CreateAdd(ir.CreateAnd(bits, m.integer(0xfffffffffffff)), m.integer(kRootOfHalf))), m.num(1));
  // AVX2 converts no integers of 64 bits: they are the low bits of a sum with round().
  constexpr int64_t kRoundBits = 0x4338000000000000;
  Value* n =
      m.sub(m.as_float(ir.CreateAdd(ir.CreateAShr(bits, m.integer(52)), m.integer(kRoundBits))), m.num(m.round()));
  n = ir.CreateSelect(tiny, m.sub(n, m.num(54)), n);
  Value *s = m.div(f, m.add(f, m.num(2))), *z = m.mul(s, s);
  Value* p = m.polynomial(z, {0x1.5555555555593p-1, 0x1.999999997fa04p-2, 0x1.2492494229359p-2, 0x1.c71c51d8e78afp-3,
                              0x1.7466496cb03dep-3, 0x1.39a09d078c69fp-3, 0x1.2f112df3e5244p-3});
  Value* half_square = m.mul(m.mul(f, m.num(0.5)), f);
  Value* rest = m.fma(s, m.fma(z, p, half_square), m.mul(n, m.num(0x1.a39ef35793c76p-33)));
  Value* result = m.fma(n, m.num(0x1.62e42feep-1), m.sub(f, m.sub(half_square, rest)));
  result = ir.CreateSelect(ir.CreateFCmpOEQ(x, m.num(0)), m.num(-HUGE_VAL), result);
  result = ir.CreateSelect(ir.CreateFCmpOLT(x, m.num(0)), m.num(std::numeric_limits<double>::quiet_NaN()), result);
  return ir.CreateSelect(ir.CreateFCmpOLT(x, m.num(HUGE_VAL)), result, x);  // inf and NaN are their own logarithms
}

llvm::Value* emit_tanh_f64(Math& m, llvm::Value* x) {
  // As for floats: e / (e + 1) with e = (exp(2x) - 1) / 2. From 19.1 on the result is 1.
  const Reduced e = reduce(m, m.at_least(m.at_most(x, 19.2), -19.2), 2);
  Value* twice = m.add(e.r, e.r);
  Value* half = m.fma(m.mul(e.r, twice), tail_of_exp(m, twice), e.r);  // (exp(2r) - 1) / 2
  Value* power = power_of_two(m, e.shifted);
  Value* sum = m.fma(power, half, m.fma(power, m.num(0.5), m.num(-0.5)));
  return m.copysign(m.div(sum, m.add(sum, m.num(1))), x);
}

llvm::Value* emit_sigmoid_f64(Math& m, llvm::Value* x) {
  return m.div(m.num(1), m.add(emit_exp_f64(m, m.ir().CreateFNeg(x)), m.num(1)));
}

}  // namespace gcg::cpu
