#include "codegen/cpu/expressions/rounded_quotient.h"

#include <bit>
#include <cmath>

#include "codegen/cpu/expressions/packed_bytes.h"
#include "codegen/cpu/expressions/vector_math.h"

namespace gcg::cpu {

using llvm::Value;
using Values = FunctionBuilder::Values;

namespace {

/// Markstein, "IA-64 and Elementary Functions" (2000): let r be 1 / c rounded and q be x * r rounded. Then q + (x - q *
/// c) * r is x / c rounded, unless all bits of c's mantissa are 1. c must be of moderate size: where x - q * c is not
/// exact, because it is below the normal numbers, the quotient is below a half.
constexpr uint32_t kMantissa = 0x7fffff;
constexpr float kLeast = 0x1p-60F, kMost = 0x1p60F;
bool corrects(float c) {
  return std::abs(c) > kLeast && std::abs(c) < kMost && (std::bit_cast<uint32_t>(c) & kMantissa) != kMantissa;
}

struct Ends {
  double low, high;
};
Ends ends_of(DType byte) { return byte == DType::i8 ? Ends{-128, 127} : Ends{0, 255}; }

/// x / c rounded, unless x is infinite. `negated`: -c.
Value* emit_quotient(FunctionBuilder& f, Value* x, Value* negated, Value* reciprocal) {
  Value* near = f.ir().CreateFMul(x, reciprocal);
  return emit_fma(f, emit_fma(f, near, negated, x), reciprocal, near);
}
Value* emit_quotient(FunctionBuilder& f, Value* x, float c) {
  const bool is_power_of_two = (std::bit_cast<uint32_t>(c) & kMantissa) == 0;
  if (is_power_of_two) return f.ir().CreateFMul(x, f.constant_like(x, 1 / c));
  return emit_quotient(f, x, f.constant_like(x, -c), f.constant_like(x, 1 / c));
}

/// corrects(c) of a positive scalar, computed at run time; false for other c.
Value* emit_corrects(FunctionBuilder& f, Value* c) {
  llvm::IRBuilder<>& ir = f.ir();
  Value* bits = ir.CreateBitCast(c, ir.getInt32Ty());
  Value* full = ir.CreateICmpEQ(ir.CreateAnd(bits, kMantissa), ir.getInt32(kMantissa));
  Value* moderate =
      ir.CreateAnd(ir.CreateFCmpOGT(c, f.constant_like(c, kLeast)), ir.CreateFCmpOLT(c, f.constant_like(c, kMost)));
  return ir.CreateAnd(moderate, ir.CreateNot(full));
}

/// min(x, high); NaN stays. Packing into bytes needs no more, because it saturates.
Value* emit_at_most(FunctionBuilder& f, Value* x, Value* high) {
  llvm::IRBuilder<>& ir = f.ir();
  return ir.CreateSelect(ir.CreateFCmpOLT(high, x), high, x);
}

/// Clamps x to [low, high]; NaN gives low.
Value* emit_between(FunctionBuilder& f, Value* x, Value* low, Value* high) {
  llvm::IRBuilder<>& ir = f.ir();
  x = ir.CreateSelect(ir.CreateFCmpOGT(x, low), x, low);
  return ir.CreateSelect(ir.CreateFCmpOLT(x, high), x, high);
}

/// The bytes of x rounded plus `zero`, an i32 of x's width. Adding a large float leaves the integer in the lowest bits.
Value* emit_byte(FunctionBuilder& f, Value* x, Value* zero) {
  constexpr double kCounts = 0x1.8p23;  // from here on, neighbouring floats differ by whole numbers
  llvm::IRBuilder<>& ir = f.ir();
  Value* counted = ir.CreateFAdd(x, f.constant_like(x, kCounts));
  Value* bits = ir.CreateBitCast(counted, zero->getType());
  return ir.CreateTrunc(ir.CreateAdd(bits, zero), x->getType()->getWithNewType(ir.getInt8Ty()));
}

/// If `e` is x + constant, returns x and stores the constant in `number`. Otherwise returns `e`.
Expr without_addend(const Expr& e, double& number) {
  if (e->kind != ExprKind::binary || e->binary != BinaryOp::add || e->args[1]->kind != ExprKind::constant) return e;
  number = e->args[1]->number;
  return e->args[0];
}

/// The sum that an expression clamps to the range of its 8-bit type, with NaN clamped to the lowest value. Null: the
/// expression has another form.
Expr sum_in_ends(const Expr& e) {
  if (e->kind != ExprKind::cast || (e->dtype != DType::i8 && e->dtype != DType::u8)) return nullptr;
  const Expr& chosen = e->args[0];
  if (chosen->dtype != DType::f32 || chosen->kind != ExprKind::select) return nullptr;
  const Expr &condition = chosen->args[0], &y = chosen->args[1], &low = chosen->args[2];
  if (condition->kind != ExprKind::binary || condition->binary != BinaryOp::greater || condition->args[0] != y ||
      condition->args[1] != low || low->kind != ExprKind::constant || low->number != ends_of(e->dtype).low)
    return nullptr;
  return y;
}

}  // namespace

std::optional<Quantization> quantization_of(const Expr& e) {
  const Expr y = sum_in_ends(e);
  if (y == nullptr) return std::nullopt;
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

std::optional<LateQuantization> late_quantization_of(const Expr& e) {
  const Expr y = sum_in_ends(e);
  if (y == nullptr || y->kind != ExprKind::binary || y->binary != BinaryOp::add) return std::nullopt;
  const Expr &rounded = y->args[0], &zero = y->args[1];
  if (rounded->kind != ExprKind::unary || rounded->unary != UnaryOp::round_even) return std::nullopt;
  if (zero->kind != ExprKind::cast || size_of(zero->args[0]->dtype) != 1) return std::nullopt;
  const Expr& quotient = rounded->args[0];
  if (quotient->kind != ExprKind::binary || quotient->binary != BinaryOp::div) return std::nullopt;
  const Expr &x = quotient->args[0], &divisor = quotient->args[1];
  if (divisor->kind == ExprKind::constant) return std::nullopt;
  return LateQuantization{x, divisor, zero, e->dtype};
}

/// Clamps x before the division. (bound * divisor) / divisor differs from the bound by less than a half.
Value* emit_quantized(FunctionBuilder& f, Value* x, const Quantization& q, double most) {
  constexpr double kWhole = 0x1p30;  // values that are rounded to an i32 must be below this bound
  const Ends ends = ends_of(q.dtype);
  const bool packs = packs_bytes(f.target(), FunctionBuilder::lanes_of(x));
  Value* high = f.constant_like(x, (ends.high - q.zero) * q.divisor);
  if (!packs)
    x = emit_between(f, x, f.constant_like(x, (ends.low - q.zero) * q.divisor), high);
  else if (!(most < kWhole * q.divisor))
    x = emit_at_most(f, x, high);
  if (q.divisor != 1) x = emit_quotient(f, x, q.divisor);
  const auto zero = static_cast<int64_t>(q.zero);
  if (packs) return emit_packed_bytes(f, x, llvm::ConstantInt::getSigned(f.ir().getInt16Ty(), zero), q.dtype);
  return emit_byte(f, x, llvm::ConstantInt::getSigned(x->getType()->getWithNewType(f.ir().getInt32Ty()), zero));
}

Value* emit_quantized(FunctionBuilder& f, Value* x, Value* divisor, Value* zero, DType dtype) {
  llvm::IRBuilder<>& ir = f.ir();
  const int lanes = FunctionBuilder::lanes_of(x);
  const bool packs = packs_bytes(f.target(), lanes);
  const Ends ends = ends_of(dtype);
  Value* low = ir.CreateFSub(f.constant_like(zero, ends.low), zero);
  Value* high = ir.CreateFSub(f.constant_like(zero, ends.high), zero);
  const auto all = [&](Value* scalar) { return f.splat(scalar, lanes); };
  const auto kept = [&](Value* y, Value* unit) {
    const auto end = [&](Value* of) { return all(unit == nullptr ? of : ir.CreateFMul(of, unit)); };
    return packs ? emit_at_most(f, y, end(high)) : emit_between(f, y, end(low), end(high));
  };
  const auto by_product = [&] {
    Value* reciprocal = ir.CreateFDiv(f.constant_like(divisor, 1), divisor);
    return Values{emit_quotient(f, kept(x, divisor), all(ir.CreateFNeg(divisor)), all(reciprocal))};
  };
  const auto by_division = [&] { return Values{kept(ir.CreateFDiv(x, all(divisor)), nullptr)}; };
  Value* quotient = f.if_else(emit_corrects(f, divisor), by_product, by_division)[0];
  if (packs) return emit_packed_bytes(f, quotient, ir.CreateFPToSI(zero, ir.getInt16Ty()), dtype);
  return emit_byte(f, quotient, all(ir.CreateFPToSI(zero, ir.getInt32Ty())));
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
  quotient = ir.CreateSelect(ir.CreateFCmpUNO(quotient, quotient), near, quotient);  // infinities have no remainder
  return ir.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, quotient);
}

}  // namespace gcg::cpu
