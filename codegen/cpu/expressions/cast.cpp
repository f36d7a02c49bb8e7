// Conversions between element types. Conversions of 16-bit floats never become library calls.
#include <llvm/IR/Intrinsics.h>

#include <cmath>

#include "codegen/cpu/expressions/arithmetic.h"
#include "codegen/cpu/llvm/widen_half.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

using llvm::Value;

llvm::Type* with_scalar(Value* like, llvm::Type* scalar) { return like->getType()->getWithNewType(scalar); }
llvm::Constant* bits_like(Value* like, uint64_t n) { return llvm::ConstantInt::get(like->getType(), n); }

/// f32 -> bf16, to nearest, ties to even; NaNs stay NaNs.
Value* narrow_bf16(FunctionBuilder& f, Value* a) {
  llvm::IRBuilder<>& ir = f.ir();
  Value* bits = ir.CreateBitCast(a, with_scalar(a, ir.getInt32Ty()));
  Value* odd = ir.CreateAnd(ir.CreateLShr(bits, 16), bits_like(bits, 1));
  Value* rounded = ir.CreateAdd(bits, ir.CreateAdd(odd, bits_like(bits, 0x7fff)));
  Value* quiet = ir.CreateOr(bits, bits_like(bits, 0x400000));
  Value* chosen = ir.CreateSelect(ir.CreateFCmpUNO(a, a), quiet, rounded);
  return ir.CreateTrunc(ir.CreateLShr(chosen, 16), with_scalar(a, ir.getInt16Ty()));
}

Value* narrow(FunctionBuilder& f, DType to, Value* a) {
  llvm::IRBuilder<>& ir = f.ir();
  if (to == DType::bf16) return narrow_bf16(f, a);
  Value* half = ir.CreateFPTrunc(a, with_scalar(a, ir.getHalfTy()));
  return ir.CreateBitCast(half, with_scalar(a, ir.getInt16Ty()));
}

/// f64 -> f32 rounding to odd, so that a second rounding to a 16-bit format is the only one that counts.
Value* round_to_odd(FunctionBuilder& f, Value* a) {
  llvm::IRBuilder<>& ir = f.ir();
  Value* nearest = ir.CreateFPTrunc(a, with_scalar(a, ir.getFloatTy()));
  Value* back = ir.CreateFPExt(nearest, a->getType());
  Value* bits = ir.CreateBitCast(nearest, with_scalar(a, ir.getInt32Ty()));
  Value* magnitude = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
  Value* back_magnitude = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back);
  // Rounds towards zero first. Then the lowest bit is set if the conversion was inexact.
  Value* too_large = ir.CreateFCmpOGT(back_magnitude, magnitude);
  Value* truncated = ir.CreateAdd(bits, ir.CreateSExt(too_large, bits->getType()));
  Value* inexact = ir.CreateZExt(ir.CreateFCmpONE(back, a), bits->getType());
  return ir.CreateBitCast(ir.CreateOr(truncated, inexact), nearest->getType());
}

Value* float_to_float(FunctionBuilder& f, DType to, Value* a) {
  const bool wide = a->getType()->getScalarType()->isDoubleTy();
  if (to == DType::f64) return wide ? a : f.ir().CreateFPExt(a, with_scalar(a, f.ir().getDoubleTy()));
  if (to == DType::f32) return wide ? f.ir().CreateFPTrunc(a, with_scalar(a, f.ir().getFloatTy())) : a;
  return narrow(f, to, wide ? round_to_odd(f, a) : a);
}

/// Converts by way of a clamped i32, because LLVM splits vectors for the saturating intrinsic. NaN becomes 0.
Value* float_to_narrow_int(FunctionBuilder& f, DType to, Value* a) {
  llvm::IRBuilder<>& ir = f.ir();
  const int bits = static_cast<int>(size_of(to)) * 8;
  const bool is_signed = is_signed_int(to);
  Value* low = llvm::ConstantFP::get(a->getType(), is_signed ? -std::ldexp(1, bits - 1) : 0);
  Value* high = llvm::ConstantFP::get(a->getType(), std::ldexp(1, is_signed ? bits - 1 : bits) - 1);
  Value* clamped = ir.CreateSelect(ir.CreateFCmpOGT(a, low), a, low);
  clamped = ir.CreateSelect(ir.CreateFCmpOLT(clamped, high), clamped, high);
  Value* wide = ir.CreateFPToSI(clamped, with_scalar(a, ir.getInt32Ty()));
  if (is_signed) wide = ir.CreateSelect(ir.CreateFCmpORD(a, a), wide, llvm::Constant::getNullValue(wide->getType()));
  return ir.CreateTrunc(wide, with_scalar(a, f.scalar_type(to)));
}

/// Clamps to values that certainly fit, and uses the conversion that vectors have, because LLVM splits vectors for the
/// saturating intrinsic. NaN becomes 0.
Value* float_to_wide_int(FunctionBuilder& f, DType to, Value* a) {
  llvm::IRBuilder<>& ir = f.ir();
  const int bits = static_cast<int>(size_of(to)) * 8;
  const bool is_signed = is_signed_int(to);
  const double limit = std::ldexp(1, is_signed ? bits - 1 : bits);
  Value *zero = llvm::ConstantFP::get(a->getType(), 0), *high = llvm::ConstantFP::get(a->getType(), limit),
        *low = is_signed ? llvm::ConstantFP::get(a->getType(), -limit) : zero;
  Value* inside = ir.CreateSelect(ir.CreateFCmpOLT(a, high), a, zero);
  inside = ir.CreateSelect(ir.CreateFCmpOGT(inside, low), inside, low);
  llvm::Type* type = with_scalar(a, f.scalar_type(to));
  Value* integer = is_signed ? ir.CreateFPToSI(inside, type) : ir.CreateFPToUI(inside, type);
  const auto most = is_signed ? llvm::APInt::getSignedMaxValue(static_cast<unsigned>(bits))
                              : llvm::APInt::getMaxValue(static_cast<unsigned>(bits));
  return ir.CreateSelect(ir.CreateFCmpOGE(a, high), llvm::ConstantInt::get(type, most), integer);
}

Value* float_to_int(FunctionBuilder& f, DType to, Value* a) {
  return size_of(to) <= 2 ? float_to_narrow_int(f, to, a) : float_to_wide_int(f, to, a);
}

Value* int_to_float(FunctionBuilder& f, DType from, DType to, Value* a) {
  llvm::IRBuilder<>& ir = f.ir();
  // 16-bit results of wide integers go through f64, whose rounding to odd is exact enough up to 2^53.
  const bool half = to == DType::f16 || to == DType::bf16;
  llvm::Type* scalar = to == DType::f64 || (half && size_of(from) >= 4) ? ir.getDoubleTy() : ir.getFloatTy();
  llvm::Type* type = with_scalar(a, scalar);
  return float_to_float(f, to, is_signed_int(from) ? ir.CreateSIToFP(a, type) : ir.CreateUIToFP(a, type));
}

Value* to_boolean(FunctionBuilder& f, Value* a) {
  Value* zero = llvm::Constant::getNullValue(a->getType());
  return a->getType()->isFPOrFPVectorTy() ? f.ir().CreateFCmpUNE(a, zero) : f.ir().CreateICmpNE(a, zero);
}

}  // namespace

llvm::Value* emit_cast(FunctionBuilder& f, DType from, DType to, llvm::Value* a) {
  if (from == to) return a;
  if (from == DType::f16 || from == DType::bf16) return emit_cast(f, DType::f32, to, widen_half(f.ir(), from, a));
  if (to == DType::boolean) return to_boolean(f, a);
  if (is_float(from)) return is_float(to) ? float_to_float(f, to, a) : float_to_int(f, to, a);
  if (is_float(to)) return int_to_float(f, from, to, a);
  return f.ir().CreateIntCast(a, with_scalar(a, f.scalar_type(to)), is_signed_int(from));
}

}  // namespace gcg::cpu
