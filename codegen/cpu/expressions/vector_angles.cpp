// Functions of angles, and their inverses. The polynomials for floats are minimax fits, as in vector_math.cpp.
#include <llvm/IR/Intrinsics.h>

#include "codegen/cpu/expressions/vector_arithmetic.h"
#include "codegen/cpu/expressions/vector_math.h"

namespace gcg::cpu {
namespace {

using llvm::Value;

/// The largest angle whose quadrant is found here.
double largest_angle(const Math& m) { return m.of_doubles() ? 0x1p25 : 0x1p17; }

/// The quadrant of an angle, and the sine and cosine of its distance from the quadrant's middle, in [-pi/4, pi/4].
struct Quadrant {
  Value* number;  // the lowest two bits of its number
  Value *sine, *cosine;
};

/// The polynomials of doubles are those of fdlibm. The first part of pi/2 ends at 2^-52, so the first difference is
/// exact where it cancels.
Quadrant exact_quadrant(Math& m, Value* x, Value* shifted, Value* n) {
  Value* r = m.fma(n, m.num(-0x1.921fb54442d18p+0), x);
  r = m.fma(n, m.num(-0x1.1a62633145c07p-54), r);
  r = m.fma(n, m.num(0x1.f1976b7ed8fbcp-110), r);
  Value* square = m.mul(r, r);
  Value* sine = m.fma(m.mul(r, square),
                      m.polynomial(square, {-0x1.5555555555549p-3, 0x1.111111110f8a6p-7, -0x1.a01a019c161d5p-13,
                                            0x1.71de357b1fe7dp-19, -0x1.ae5e68a2b9cebp-26, 0x1.5d93a5acfd57cp-33}),
                      r);
  Value* cosine = m.fma(m.mul(square, square),
                        m.polynomial(square, {0x1.555555555554cp-5, -0x1.6c16c16c15177p-10, 0x1.a01a019cb159p-16,
                                              -0x1.27e4f809c52adp-22, 0x1.1ee9ebdb4b1c4p-29, -0x1.8fae9be8838d4p-37}),
                        m.fma(square, m.num(-0.5), m.num(1)));
  return {m.as_int(shifted), sine, cosine};
}

/// Requires |x| <= largest_angle(m): pi/2 in three parts is exact enough up to there.
Quadrant quadrant_of(Math& m, Value* x) {
  Value* shifted =
      m.fma(x, m.num(m.of_doubles() ? 0x1.45f306dc9c883p-1 : 0x1.45f306p-1), m.num(m.round()));  // x / (pi/2)
  Value* n = m.sub(shifted, m.num(m.round()));
  if (m.of_doubles()) return exact_quadrant(m, x, shifted, n);
  Value* r = m.fma(n, m.num(-0x1.921fb6p+0), x);
  r = m.fma(n, m.num(0x1.777a5cp-25), r);
  r = m.fma(n, m.num(0x1.ee59dap-50), r);
  Value* square = m.mul(r, r);
  Value* sine = m.fma(m.mul(r, square), m.polynomial(square, {-0x1.555544p-3, 0x1.1106b8p-7, -0x1.99171ap-13}), r);
  Value* cosine = m.fma(m.mul(square, square), m.polynomial(square, {0x1.55554ap-5, -0x1.6c0ba6p-10, 0x1.99c2acp-16}),
                        m.fma(square, m.num(-0.5), m.num(1)));
  return {m.as_int(shifted), sine, cosine};
}

Value* near_sine(Math& m, const Quadrant& q, bool cosine) {
  llvm::IRBuilder<>& ir = m.ir();
  Value* number = cosine ? ir.CreateAdd(q.number, m.integer(1)) : q.number;  // cos(x) = sin(x + pi/2)
  Value* odd = ir.CreateICmpNE(ir.CreateAnd(number, m.integer(1)), m.integer(0));
  Value* size = ir.CreateSelect(odd, q.cosine, q.sine);
  return m.as_float(ir.CreateXor(
      m.as_int(size), ir.CreateShl(ir.CreateAnd(number, m.integer(2)), m.integer(m.of_doubles() ? 62 : 30))));
}

Value* near_tangent(Math& m, const Quadrant& q) {
  llvm::IRBuilder<>& ir = m.ir();
  Value* odd = ir.CreateICmpNE(ir.CreateAnd(q.number, m.integer(1)), m.integer(0));
  return m.div(ir.CreateSelect(odd, ir.CreateFNeg(q.cosine), q.sine), ir.CreateSelect(odd, q.sine, q.cosine));
}

/// `value` is asin(t). t is |x| or, where `reflected`, sqrt((1 - |x|) / 2).
struct NearAsin {
  Value *reflected, *value;
};

NearAsin near_asin(Math& m, Value* x) {
  llvm::IRBuilder<>& ir = m.ir();
  Value* size = m.abs(x);
  Value* reflected = ir.CreateFCmpOGT(size, m.num(0.5));
  Value* square = ir.CreateSelect(reflected, m.fma(size, m.num(-0.5), m.num(0.5)), m.mul(size, size));
  Value* root = ir.CreateSelect(reflected, ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, square), size);
  Value* p = m.polynomial(square, {0x1.5555c8p-3, 0x1.3301e4p-4, 0x1.747e4ap-5, 0x1.8c283cp-6, 0x1.596d28p-5});
  return {reflected, m.fma(m.mul(root, square), p, root)};
}

constexpr double kHalfPi = 0x1.921fb6p+0, kPi = 0x1.921fb6p+1;

}  // namespace

llvm::Value* emit_angle_function(FunctionBuilder& f, Angle which, llvm::Value* x,
                                 const std::function<llvm::Value*()>& exact) {
  Math m(f, x);
  Value* far = f.ir().CreateFCmpUGT(m.abs(x), m.num(largest_angle(m)));
  if (far->getType()->isVectorTy()) far = f.ir().CreateOrReduce(far);
  return f.if_else(
      far, [&] { return FunctionBuilder::Values{exact()}; },
      [&] {
        const Quadrant q = quadrant_of(m, x);
        return FunctionBuilder::Values{which == Angle::tangent ? near_tangent(m, q)
                                                               : near_sine(m, q, which == Angle::cosine)};
      })[0];
}

llvm::Value* emit_atan(FunctionBuilder& f, llvm::Value* x) {
  Math m(f, x);
  llvm::IRBuilder<>& ir = f.ir();
  // For |x| above 1, atan(|x|) is pi/2 minus the arctangent of the reciprocal.
  Value* size = m.abs(x);
  Value* beyond = ir.CreateFCmpOGT(size, m.num(1));
  Value* r = m.div(ir.CreateSelect(beyond, m.num(1), size), ir.CreateSelect(beyond, size, m.num(1)));
  Value* square = m.mul(r, r);
  Value* p = m.polynomial(square, {-0x1.5554dcp-2, 0x1.9978f4p-3, -0x1.230adcp-3, 0x1.b4e12ap-4, -0x1.3556b6p-4,
                                   0x1.61fddap-5, -0x1.0c2c14p-6, 0x1.7ed232p-9});
  Value* near = m.fma(m.mul(r, square), p, r);
  return m.copysign(ir.CreateSelect(beyond, m.sub(m.num(kHalfPi), near), near), x);
}

llvm::Value* emit_asin(FunctionBuilder& f, llvm::Value* x) {
  Math m(f, x);
  const NearAsin near = near_asin(m, x);
  return m.copysign(f.ir().CreateSelect(near.reflected, m.fma(near.value, m.num(-2), m.num(kHalfPi)), near.value), x);
}

llvm::Value* emit_acos(FunctionBuilder& f, llvm::Value* x) {
  Math m(f, x);
  llvm::IRBuilder<>& ir = f.ir();
  const NearAsin near = near_asin(m, x);
  Value* left = m.fma(near.value, m.num(-2), m.num(kPi));
  Value* reflected = ir.CreateSelect(ir.CreateFCmpOLT(x, m.num(0)), left, m.add(near.value, near.value));
  return ir.CreateSelect(near.reflected, reflected, m.sub(m.num(kHalfPi), m.copysign(near.value, x)));
}

}  // namespace gcg::cpu
