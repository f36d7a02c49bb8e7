#include "codegen/cpu/expressions/rounded_quotient.h"

#include <bit>
#include <cmath>

#include "codegen/cpu/expressions/vector_math.h"

namespace gcg::cpu {

using llvm::Value;

namespace {

/// Markstein, "IA-64 and Elementary Functions" (2000): with r = 1 / c rounded and q = x * r rounded, q + (x - q *
/// c) * r is x / c rounded, unless all bits of c's mantissa are 1. c of moderate size: where x - q * c is not exact,
/// since it is below the normal numbers, the quotient is below a half.
bool corrects(float c) {
  constexpr uint32_t kMantissa = 0x7fffff;
  return std::abs(c) > 0x1p-60F && std::abs(c) < 0x1p60F && (std::bit_cast<uint32_t>(c) & kMantissa) != kMantissa;
}

}  // namespace

std::optional<float> divisor_before_rounding(const Expr& e) {
  if (e->kind != ExprKind::unary || e->unary != UnaryOp::round_even || e->dtype != DType::f32) return std::nullopt;
  const Expr& quotient = e->args[0];
  if (quotient->kind != ExprKind::binary || quotient->binary != BinaryOp::div) return std::nullopt;
  const Expr& c = quotient->args[1];
  if (c->kind != ExprKind::constant || !corrects(static_cast<float>(c->number))) return std::nullopt;
  return static_cast<float>(c->number);
}

Value* emit_rounded_quotient(FunctionBuilder& f, Value* x, float c) {
  llvm::IRBuilder<>& ir = f.ir();
  Value* reciprocal = f.constant_like(x, 1 / c);
  Value* near = ir.CreateFMul(x, reciprocal);
  Value* rest = emit_fma(f, near, f.constant_like(x, -c), x);
  Value* quotient = emit_fma(f, rest, reciprocal, near);
  quotient = ir.CreateSelect(ir.CreateFCmpUNO(quotient, quotient), near, quotient);  // infinities have no rest
  return ir.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, quotient);
}

}  // namespace gcg::cpu
