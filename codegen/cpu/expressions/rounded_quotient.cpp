#include "codegen/cpu/expressions/rounded_quotient.h"

#include "codegen/cpu/expressions/vector_math.h"

namespace gcg::cpu {

using llvm::Value;

namespace {

constexpr uint32_t kMantissa = 0x7fffff, kMagnitude = 0x7fffffff;
constexpr uint32_t power_of_two(int exponent) { return static_cast<uint32_t>(127 + exponent) << 23; }

/// Markstein, "IA-64 and Elementary Functions" (2000): with r = 1 / c rounded and q = x * r rounded, q + (x - q *
/// c) * r is x / c rounded, unless all bits of c's mantissa are 1. c of moderate size: where x - q * c is not exact,
/// since it is below the normal numbers, the quotient is below a half. A constant condition where c is one.
Value* corrects(llvm::IRBuilder<>& ir, Value* c) {
  Value* bits = ir.CreateBitCast(c, ir.getInt32Ty());
  Value* above = ir.CreateSub(ir.CreateAnd(bits, kMagnitude), ir.getInt32(power_of_two(-60) + 1));
  Value* moderate = ir.CreateICmpULT(above, ir.getInt32(power_of_two(60) - power_of_two(-60) - 1));
  Value* mantissa = ir.CreateAnd(bits, kMantissa);
  return ir.CreateAnd(moderate, ir.CreateICmpNE(mantissa, ir.getInt32(kMantissa)));
}

Value* corrected_quotient(FunctionBuilder& f, Value* x, Value* c) {
  llvm::IRBuilder<>& ir = f.ir();
  const int lanes = FunctionBuilder::lanes_of(x);
  Value* reciprocal = f.splat(ir.CreateFDiv(llvm::ConstantFP::get(c->getType(), 1), c), lanes);
  Value* near = ir.CreateFMul(x, reciprocal);
  Value* rest = emit_fma(f, near, f.splat(ir.CreateFNeg(c), lanes), x);
  Value* quotient = emit_fma(f, rest, reciprocal, near);
  return ir.CreateSelect(ir.CreateFCmpUNO(quotient, quotient), near, quotient);  // infinities have no rest
}

}  // namespace

const ExprNode* quotient_before_rounding(const Expr& e) {
  if (e->kind != ExprKind::unary || e->unary != UnaryOp::round_even || e->dtype != DType::f32) return nullptr;
  const Expr& quotient = e->args[0];
  return quotient->kind == ExprKind::binary && quotient->binary == BinaryOp::div ? quotient.get() : nullptr;
}

Value* emit_rounded_quotient(FunctionBuilder& f, Value* x, Value* c) {
  llvm::IRBuilder<>& ir = f.ir();
  if (FunctionBuilder::is_vector(c)) return nullptr;
  Value* condition = corrects(ir, c);
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition);
  if (known != nullptr ? known->isZero() : !FunctionBuilder::is_vector(x)) return nullptr;
  const auto by_product = [&] { return FunctionBuilder::Values{corrected_quotient(f, x, c)}; };
  const auto by_division = [&] {
    return FunctionBuilder::Values{ir.CreateFDiv(x, f.splat(c, FunctionBuilder::lanes_of(x)))};
  };
  Value* quotient = known != nullptr ? by_product()[0] : f.if_else(condition, by_product, by_division)[0];
  return ir.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, quotient);
}

}  // namespace gcg::cpu
