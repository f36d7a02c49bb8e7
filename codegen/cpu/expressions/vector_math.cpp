// The polynomials below are minimax fits (Remez, relative error of the function) on the stated interval. Their
// coefficients are rounded to f32.
#include "codegen/cpu/expressions/vector_math.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>
#include <limits>

#include "codegen/cpu/expressions/vector_arithmetic.h"
#include "codegen/cpu/expressions/vector_math_f64.h"

namespace gcg::cpu {
namespace {

using llvm::Value;

constexpr double kRound = 0x1.8p23;       // adding it rounds a float below 2^21 to an integer, kept in the lowest bits
constexpr double kSigmoidCut = -87.3365;  // below this x, results are subnormal

/// exp(x) = 2^n * mantissa, computed from r with |r| <= ln(2)/2. Requires |x| < 2^21.
struct SplitExp {
  Value* shifted;  // n + bias + kRound
  Value* n;
  Value* r;  // x - n ln 2
};

SplitExp split_exp(Math& m, Value* x, int bias = 127) {
  Value* shifted = m.fma(x, m.num(0x1.715476p+0), m.num(kRound + bias));  // x / ln 2
  Value* n = m.sub(shifted, m.num(kRound + bias));
  Value* r = m.fma(n, m.num(-0x1.62e4p-1), x);  // ln 2 in two parts; the product of n and the high part is exact
  return {shifted, n, m.fma(n, m.num(-0x1.7f7d1cp-20), r)};
}

/// The mantissa times `scale`.
Value* mantissa(Math& m, const SplitExp& e, double scale = 1) {
  return m.polynomial(e.r, {scale, scale, scale * 0x1.fffffcp-2, scale * 0x1.555492p-3, scale * 0x1.5558f2p-5,
                            scale * 0x1.1239f2p-7, scale * 0x1.6a2416p-10});
}

/// 2^(n + bias - 127), 0 for an exponent of -127.
Value* power_of_two(Math& m, const SplitExp& e) {
  return m.as_float(m.ir().CreateShl(m.as_int(e.shifted), m.integer(23)));  // the shift removes the bits of kRound
}

/// value * 2^n by the AVX-512 instruction, which rounds once and saturates; 0 in lanes that are not `taken`; one
/// register of 16 lanes at a time. The instruction takes 54 ns on Intel's CPUs if a result is subnormal, unless
/// that lane is masked off.
Value* scale_avx512(Math& m, Value* value, Value* n, Value* taken) {
  llvm::IRBuilder<>& ir = m.ir();
  const int lanes = FunctionBuilder::lanes_of(value);
  if (lanes > 16) {
    std::vector<int> low, high, all;
    for (int j = 0; j < lanes / 2; ++j) {
      low.push_back(j);
      high.push_back(j + lanes / 2);
    }
    for (int j = 0; j < lanes; ++j) all.push_back(j);
    const auto part = [&](const std::vector<int>& of) {
      return scale_avx512(m, ir.CreateShuffleVector(value, of), ir.CreateShuffleVector(n, of),
                          ir.CreateShuffleVector(taken, of));
    };
    Value* a = part(low);
    return ir.CreateShuffleVector(a, part(high), all);
  }
  return ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                            {value, n, llvm::Constant::getNullValue(value->getType()),
                             ir.CreateBitCast(taken, ir.getInt16Ty()), ir.getInt32(4)});
}

/// exp for x in [-20, 0]; the result for NaN is arbitrary.
Value* exp_near_zero(Math& m, Value* x) {
  Value* shifted = m.fma(x, m.num(0x1.715476p+0), m.num(kRound + 127));
  Value* n = m.sub(shifted, m.num(kRound + 127));
  const SplitExp e{shifted, n, m.fma(n, m.num(-0x1.62e43p-1), x)};  // n is small, so one part of ln 2 is enough
  return m.mul(mantissa(m, e), power_of_two(m, e));
}

}  // namespace

llvm::Value* emit_fma(FunctionBuilder& f, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  return Math(f, a).fma(a, b, c);
}

llvm::Value* emit_exp(FunctionBuilder& f, llvm::Value* x) {
  Math m(f, x);
  if (m.of_doubles()) return emit_exp_f64(m, x);
  if (const int lanes = FunctionBuilder::lanes_of(x); f.target().has_avx512() && lanes >= 16 && lanes % 16 == 0) {
    constexpr double kLeast = -87.3365;  // the least x with a normal result; values that masks exclude are far below it
    const SplitExp e = split_exp(m, m.at_most(x, 89.0));
    return scale_avx512(m, mantissa(m, e), e.n, f.ir().CreateFCmpUGE(x, m.num(kLeast)));  // NaN is taken
  }
  // Multiplies twice the mantissa by half the power. This power is 0 at the lower limit, and finite at the upper one,
  // where the product becomes inf.
  const SplitExp e = split_exp(m, m.at_least(m.at_most(x, 88.73), -87.6), 126);
  return m.mul(mantissa(m, e, 2), power_of_two(m, e));
}

llvm::Value* emit_log(FunctionBuilder& f, llvm::Value* x) {
  Math m(f, x);
  if (m.of_doubles()) return emit_log_f64(m, x);
  llvm::IRBuilder<>& ir = f.ir();
  // x = 2^n * (1 + r) with 1 + r in [sqrt(1/2), sqrt(2)); denormals are made normal first.
  Value* tiny = ir.CreateFCmpOLT(x, m.num(0x1p-126));
  Value* normal = ir.CreateSelect(tiny, m.mul(x, m.num(0x1p23)), x);
  Value* bits = ir.CreateSub(m.as_int(normal), m.integer(0x3f3504f3));  // of sqrt(1/2)
  Value* n = ir.CreateSIToFP(ir.CreateAShr(bits, m.integer(23)), x->getType());
  n = ir.CreateSelect(tiny, m.sub(n, m.num(23)), n);
  Value* mantissa = ir.CreateAdd(ir.CreateAnd(bits, m.integer(0x7fffff)), m.integer(0x3f3504f3));
  Value* r = m.sub(m.as_float(mantissa), m.num(1));
  Value* p = m.polynomial(r, {0x1.555554p-2, -0x1.000228p-2, 0x1.99a00ap-3, -0x1.547228p-3, 0x1.22d9e6p-3,
                              -0x1.0d863ap-3, 0x1.055d7cp-3, -0x1.38b56cp-4});
  // log(x) = r - r^2/2 + r^3 p + n ln 2, with small terms added first.
  Value* square = m.mul(r, r);
  Value* small = m.fma(n, m.num(0x1.7f7d1cp-20), m.mul(m.mul(square, r), p));
  small = m.fma(square, m.num(-0.5), small);
  Value* result = m.fma(n, m.num(0x1.62e4p-1), m.add(r, small));
  result = ir.CreateSelect(ir.CreateFCmpOEQ(x, m.num(0)), m.num(-HUGE_VAL), result);
  result = ir.CreateSelect(ir.CreateFCmpOLT(x, m.num(0)), m.num(std::numeric_limits<double>::quiet_NaN()), result);
  return ir.CreateSelect(ir.CreateFCmpOLT(x, m.num(INFINITY)), result, x);  // inf and NaN are their own logarithms
}

llvm::Value* emit_erf(FunctionBuilder& f, llvm::Value* x) {
  Math m(f, x);
  constexpr double kCut = 0.9;
  Value* square = m.mul(x, x);
  // erf(x) = x + x p. As a float, the leading coefficient 2/sqrt(pi) would lose half a unit.
  Value* p = m.polynomial(
      square, {0x1.06eba6p-3, -0x1.8126fap-2, 0x1.ce1dd2p-4, -0x1.b6bee2p-6, 0x1.4876cap-8, -0x1.3f4f7p-11});
  Value* near = m.fma(x, p, x);
  // erf(t) = 1 - erfc(t), with ln erfc(t) = t q(t) - t. From 4 on the result is 1.
  Value* t = m.at_most(m.abs(x), 4.0);
  Value* q =
      m.polynomial(t, {-0x1.0736bap-3, -0x1.457950p-1, -0x1.af4caep-4, 0x1.776858p-6, -0x1.a6568ap-9, 0x1.c29a92p-13});
  Value* far = m.sub(m.num(1), exp_near_zero(m, m.fma(t, q, f.ir().CreateFNeg(t))));
  return m.near_or_far(x, kCut, near, far);
}

llvm::Value* emit_tanh(FunctionBuilder& f, llvm::Value* x) {
  Math m(f, x);
  if (m.of_doubles()) return emit_tanh_f64(m, x);
  // tanh(x) = e / (e + 1) with e = (exp(2x) - 1) / 2, which keeps its relative error around 0. From 9.1 on the result
  // is 1.
  Value* t = m.at_least(m.at_most(x, 9.2), -9.2);
  Value* shifted = m.fma(t, m.num(0x1.715476p+1), m.num(kRound + 127));
  Value* n = m.sub(shifted, m.num(kRound + 127));
  Value* h = m.fma(n, m.num(-0x1.62e43p-2), t);  // n is small, so one part of ln(2) / 2 is enough
  Value* p = m.polynomial(h, {0x1.fffffcp-1, 0x1.555492p-1, 0x1.5558f2p-2, 0x1.1239f2p-3, 0x1.6a2416p-5});
  Value* half = m.fma(m.mul(h, h), p, h);  // (exp(2h) - 1) / 2
  Value* power = power_of_two(m, {shifted, n, h});
  Value* e = m.fma(power, half, m.fma(power, m.num(0.5), m.num(-0.5)));
  return m.div(e, m.add(e, m.num(1)));
}

llvm::Value* emit_sigmoid(FunctionBuilder& f, llvm::Value* x) {
  Math m(f, x);
  if (m.of_doubles()) return emit_sigmoid_f64(m, x);
  // 1 / (1 + exp(-x)). Subnormal results become zero, because subnormal values slow down the code that reads them.
  const SplitExp e = split_exp(m, f.ir().CreateFNeg(m.at_most(x, 88.0)));
  Value* result = m.div(m.num(1), m.fma(mantissa(m, e), power_of_two(m, e), m.num(1)));
  return f.ir().CreateSelect(f.ir().CreateFCmpOLT(x, m.num(kSigmoidCut)), m.num(0), result);
}

}  // namespace gcg::cpu
