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

struct Ends {
  double low, high;
};
Ends ends_of(DType byte) { return byte == DType::i8 ? Ends{-128, 127} : Ends{0, 255}; }

/// x / c rounded, unless x is infinite.
Value* emit_quotient(FunctionBuilder& f, Value* x, float c) {
  Value *reciprocal = f.constant_like(x, 1 / c), *near = f.ir().CreateFMul(x, reciprocal);
  return emit_fma(f, emit_fma(f, near, f.constant_like(x, -c), x), reciprocal, near);
}

/// The operand that is no number of a sum with a number, which is put into `number`; the expression itself otherwise.
Expr without_addend(const Expr& e, double& number) {
  if (e->kind != ExprKind::binary || e->binary != BinaryOp::add || e->args[1]->kind != ExprKind::constant) return e;
  number = e->args[1]->number;
  return e->args[0];
}

}  // namespace

std::optional<Quantization> quantization_of(const Expr& e) {
  if (e->kind != ExprKind::cast || (e->dtype != DType::i8 && e->dtype != DType::u8)) return std::nullopt;
  const Expr& chosen = e->args[0];
  if (chosen->dtype != DType::f32 || chosen->kind != ExprKind::select) return std::nullopt;
  const Expr &condition = chosen->args[0], &y = chosen->args[1], &low = chosen->args[2];
  if (condition->kind != ExprKind::binary || condition->binary != BinaryOp::greater || condition->args[0] != y ||
      condition->args[1] != low || low->kind != ExprKind::constant || low->number != ends_of(e->dtype).low)
    return std::nullopt;
  Quantization q{nullptr, 1, 0, e->dtype};
  const Expr rounded = without_addend(y, q.zero);
  if (q.zero != std::trunc(q.zero) || std::abs(q.zero) > 255) return std::nullopt;
  if (rounded->kind != ExprKind::unary || rounded->unary != UnaryOp::round_even) return std::nullopt;
  q.x = rounded->args[0];
  if (const auto divisor = divisor_before_rounding(rounded)) {
    if (*divisor < 0) return std::nullopt;
    q.x = q.x->args[0];
    q.divisor = *divisor;
  }
  return q;
}

/// What is beyond the ends is brought to them first: a product of an end and the divisor is less than a half from the
/// end after division. The integer is what the last bits of a large float count.
Value* emit_quantized(FunctionBuilder& f, Value* x, const Quantization& q) {
  constexpr double kCounts = 0x1.8p23;  // floats from here on are a whole number apart
  llvm::IRBuilder<>& ir = f.ir();
  const Ends ends = ends_of(q.dtype);
  Value *low = f.constant_like(x, (ends.low - q.zero) * q.divisor),
        *high = f.constant_like(x, (ends.high - q.zero) * q.divisor);
  x = ir.CreateSelect(ir.CreateFCmpOGT(x, low), x, low);  // of NaN, too
  x = ir.CreateSelect(ir.CreateFCmpOLT(x, high), x, high);
  if (q.divisor != 1) x = emit_quotient(f, x, q.divisor);
  Value* counted = ir.CreateFAdd(x, f.constant_like(x, kCounts));
  Value* bits = ir.CreateBitCast(counted, x->getType()->getWithNewType(ir.getInt32Ty()));
  bits = ir.CreateAdd(bits, llvm::ConstantInt::getSigned(bits->getType(), static_cast<int64_t>(q.zero)));
  return ir.CreateTrunc(bits, x->getType()->getWithNewType(ir.getInt8Ty()));
}

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
  Value* quotient = emit_quotient(f, x, c);
  Value* near = ir.CreateFMul(x, f.constant_like(x, 1 / c));
  quotient = ir.CreateSelect(ir.CreateFCmpUNO(quotient, quotient), near, quotient);  // infinities have no rest
  return ir.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, quotient);
}

}  // namespace gcg::cpu
