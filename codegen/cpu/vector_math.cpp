// Polynomials below are minimax fits (Remez, relative error of the function) on the stated interval, rounded to f32.
#include "codegen/cpu/vector_math.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>
#include <initializer_list>
#include <limits>

namespace gcg::cpu {
namespace {

using llvm::Value;

/// f32 arithmetic on values of one type.
class Math {
 public:
  Math(FunctionBuilder& f, Value* like)
      : f_(f), ir_(f.ir()), type_(like->getType()), int_type_(type_->getWithNewType(f.ir().getInt32Ty())) {}

  Value* num(double v) { return llvm::ConstantFP::get(type_, v); }
  Value* integer(int64_t v) { return llvm::ConstantInt::get(int_type_, static_cast<uint64_t>(v), true); }
  Value* add(Value* a, Value* b) { return ir_.CreateFAdd(a, b); }
  Value* sub(Value* a, Value* b) { return ir_.CreateFSub(a, b); }
  Value* mul(Value* a, Value* b) { return ir_.CreateFMul(a, b); }
  Value* div(Value* a, Value* b) { return ir_.CreateFDiv(a, b); }
  Value* fma(Value* a, Value* b, Value* c) { return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {type_}, {a, b, c}); }
  Value* abs(Value* a) { return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a); }
  Value* copysign(Value* a, Value* sign) { return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, a, sign); }
  /// NaN stays NaN (the constant is the first operand of the comparison).
  Value* at_most(Value* a, double limit) { return ir_.CreateSelect(ir_.CreateFCmpOLT(num(limit), a), num(limit), a); }
  Value* at_least(Value* a, double limit) { return ir_.CreateSelect(ir_.CreateFCmpOGT(num(limit), a), num(limit), a); }
  /// c[0] + c[1] x + ...
  Value* polynomial(Value* x, std::initializer_list<double> c) {
    auto it = std::rbegin(c);
    Value* sum = num(*it);
    for (++it; it != std::rend(c); ++it) sum = fma(sum, x, num(*it));
    return sum;
  }
  /// An odd function from its values for |x| < cut, and its positive values elsewhere; NaN goes the near way.
  Value* near_or_far(Value* x, double cut, Value* near, Value* far) {
    return ir_.CreateSelect(ir_.CreateFCmpULT(abs(x), num(cut)), near, copysign(far, x));
  }
  Value* as_int(Value* a) { return ir_.CreateBitCast(a, int_type_); }
  Value* as_float(Value* a) { return ir_.CreateBitCast(a, type_); }
  llvm::IRBuilder<>& ir() { return ir_; }
  FunctionBuilder& f() { return f_; }

 private:
  FunctionBuilder& f_;
  llvm::IRBuilder<>& ir_;
  llvm::Type* type_;
  llvm::Type* int_type_;
};

constexpr double kRound = 0x1.8p23;  // adding it rounds a float below 2^21 to an integer, kept in the lowest bits
constexpr int64_t kRoundBits = 0x4b400000;

/// exp(x) = 2^n * mantissa, |n ln 2 - x| <= ln(2)/2. Requires |x| < 2^21.
struct SplitExp {
  Value* shifted;  // n + kRound
  Value* n;
  Value* mantissa;
};

SplitExp split_exp(Math& m, Value* x) {
  Value* shifted = m.fma(x, m.num(0x1.715476p+0), m.num(kRound));  // x / ln 2
  Value* n = m.sub(shifted, m.num(kRound));
  Value* r = m.fma(n, m.num(-0x1.62e4p-1), x);  // ln 2 in two parts; n * high part is exact
  r = m.fma(n, m.num(-0x1.7f7d1cp-20), r);
  return {shifted, n,
          m.polynomial(r, {1, 1, 0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558f2p-5, 0x1.1239f2p-7, 0x1.6a2416p-10})};
}

/// value * 2^n by the AVX-512 instruction, which rounds once and saturates; per register of 16 lanes.
Value* scale_avx512(Math& m, Value* value, Value* n) {
  llvm::IRBuilder<>& ir = m.ir();
  const int lanes = FunctionBuilder::lanes_of(value);
  if (lanes > 16) {
    std::vector<int> low, high, all;
    for (int j = 0; j < lanes / 2; ++j) {
      low.push_back(j);
      high.push_back(j + lanes / 2);
    }
    for (int j = 0; j < lanes; ++j) all.push_back(j);
    Value* a = scale_avx512(m, ir.CreateShuffleVector(value, low), ir.CreateShuffleVector(n, low));
    Value* b = scale_avx512(m, ir.CreateShuffleVector(value, high), ir.CreateShuffleVector(n, high));
    return ir.CreateShuffleVector(a, b, all);
  }
  return ir.CreateIntrinsic(
      llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
      {value, n, llvm::Constant::getNullValue(value->getType()), ir.getInt16(0xffff), ir.getInt32(4)});
}

/// Adds an integer to the exponent of a float; result and argument are normal.
Value* add_exponent(Math& m, Value* value, Value* n) {
  return m.as_float(m.ir().CreateAdd(m.as_int(value), m.ir().CreateShl(n, m.integer(23))));
}

/// For n in [-252, 254], rounding once. NaN in gives NaN.
Value* join(Math& m, const SplitExp& e) {
  const int lanes = FunctionBuilder::lanes_of(e.n);
  if (m.f().target().has_avx512() && lanes >= 16 && lanes % 16 == 0) return scale_avx512(m, e.mantissa, e.n);
  // In two steps, the first of which cannot leave the normal numbers; the second multiplies NaNs too.
  llvm::IRBuilder<>& ir = m.ir();
  Value* n = ir.CreateSub(m.as_int(e.shifted), m.integer(kRoundBits));
  Value* half = ir.CreateAShr(n, m.integer(1));
  Value* rest = ir.CreateSub(n, half);
  Value* power = m.as_float(ir.CreateShl(ir.CreateAdd(rest, m.integer(127)), m.integer(23)));
  return m.mul(m.mul(e.mantissa, power), add_exponent(m, m.num(1), half));
}

/// exp for x in [-87, 88], where results are normal; anything for NaN.
Value* exp_normal(Math& m, Value* x) {
  const SplitExp e = split_exp(m, x);
  return add_exponent(m, e.mantissa, m.as_int(e.shifted));  // the bits of kRound are shifted out
}

}  // namespace

llvm::Value* emit_fma(FunctionBuilder& f, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  return Math(f, a).fma(a, b, c);
}

llvm::Value* emit_exp(FunctionBuilder& f, llvm::Value* x) {
  Math m(f, x);
  // Beyond these, results are 0 and inf; inside, n stays in the range of `scale`.
  return join(m, split_exp(m, m.at_least(m.at_most(x, 89.0), -104.0)));
}

llvm::Value* emit_log(FunctionBuilder& f, llvm::Value* x) {
  Math m(f, x);
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
  // r - r^2/2 + r^3 p + n ln 2, small terms first.
  Value* square = m.mul(r, r);
  Value* small = m.fma(n, m.num(0x1.7f7d1cp-20), m.mul(m.mul(square, r), p));
  small = m.fma(square, m.num(-0.5), small);
  Value* result = m.fma(n, m.num(0x1.62e4p-1), m.add(r, small));
  result = ir.CreateSelect(ir.CreateFCmpOEQ(x, m.num(0)), m.num(-INFINITY), result);
  result = ir.CreateSelect(ir.CreateFCmpOLT(x, m.num(0)), m.num(std::numeric_limits<double>::quiet_NaN()), result);
  return ir.CreateSelect(ir.CreateFCmpOLT(x, m.num(INFINITY)), result, x);  // inf and NaN are their own logarithms
}

llvm::Value* emit_erf(FunctionBuilder& f, llvm::Value* x) {
  Math m(f, x);
  constexpr double kCut = 0.9;
  Value* square = m.mul(x, x);
  // x + x p: the leading coefficient, 2/sqrt(pi), would lose half a unit as a float.
  Value* p = m.polynomial(
      square, {0x1.06eba6p-3, -0x1.8126fap-2, 0x1.ce1dd2p-4, -0x1.b6bee2p-6, 0x1.4876cap-8, -0x1.3f4f7p-11});
  Value* near = m.fma(x, p, x);
  // 1 - erfc(t); ln erfc(t) = t q(t) - t. From 4 on the result is 1.
  Value* t = m.at_most(m.abs(x), 4.0);
  Value* q =
      m.polynomial(t, {-0x1.0736bap-3, -0x1.457950p-1, -0x1.af4caep-4, 0x1.776858p-6, -0x1.a6568ap-9, 0x1.c29a92p-13});
  Value* far = m.sub(m.num(1), exp_normal(m, m.fma(t, q, f.ir().CreateFNeg(t))));
  return m.near_or_far(x, kCut, near, far);
}

llvm::Value* emit_tanh(FunctionBuilder& f, llvm::Value* x) {
  Math m(f, x);
  constexpr double kCut = 0.55;
  Value* square = m.mul(x, x);
  Value* p = m.polynomial(square, {-0x1.55554ap-2, 0x1.110d26p-3, -0x1.b9287ap-5, 0x1.593d08p-6, -0x1.9b3046p-8});
  Value* near = m.fma(m.mul(square, x), p, x);
  // 1 - 2 / (exp(2t) + 1). From 10 on the result is 1.
  Value* t = m.at_most(m.abs(x), 10.0);
  Value* e = exp_normal(m, m.add(t, t));
  Value* far = m.sub(m.num(1), m.div(m.num(2), m.add(e, m.num(1))));
  return m.near_or_far(x, kCut, near, far);
}

llvm::Value* emit_sigmoid(FunctionBuilder& f, llvm::Value* x) {
  Math m(f, x);
  llvm::IRBuilder<>& ir = f.ir();
  // With e = exp(-|x|) <= 1 nothing overflows: 1 / (1 + e), or e / (1 + e) left of zero.
  Value* e = join(m, split_exp(m, m.at_least(ir.CreateFNeg(m.abs(x)), -104.0)));
  Value* left = ir.CreateFCmpOLT(x, m.num(0));
  Value* numerator = ir.CreateSelect(left, e, m.num(1));
  // What rounding 1 + e (exactly sum + rest) and the quotient lose is put back by one Newton step.
  Value* sum = m.add(m.num(1), e);
  Value* rest = m.sub(e, m.sub(sum, m.num(1)));
  Value* quotient = m.div(numerator, sum);
  Value* remainder = m.fma(ir.CreateFNeg(quotient), rest, m.fma(ir.CreateFNeg(quotient), sum, numerator));
  Value* reciprocal = ir.CreateSelect(left, m.sub(m.num(1), quotient), quotient);
  return m.fma(remainder, reciprocal, quotient);
}

}  // namespace gcg::cpu
