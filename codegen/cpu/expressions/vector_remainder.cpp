// C's fmod of scalars and vectors: exact, by one division in doubles.
#include <llvm/IR/Intrinsics.h>

#include "codegen/cpu/expressions/vector_math.h"

namespace gcg::cpu {

using llvm::Value;

/// Below 2^52, the integer part of the rounded quotient equals the integer part of the exact quotient, or is one more
/// if rounding reached the next integer. The product is subtracted by one FMA, whose result needs no more digits than
/// its operands have.
llvm::Value* emit_remainder(FunctionBuilder& f, llvm::Value* a, llvm::Value* b,
                            const std::function<llvm::Value*()>& exact) {
  llvm::IRBuilder<>& ir = f.ir();
  llvm::Type* type = a->getType()->getWithNewType(ir.getDoubleTy());
  const auto size = [&](Value* v) { return ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, ir.CreateFPExt(v, type)); };
  const auto number = [&](double v) { return llvm::ConstantFP::get(type, v); };
  Value *x = size(a), *y = size(b), *quotient = ir.CreateFDiv(x, y);
  Value* far = ir.CreateFCmpOGE(quotient, number(0x1p52));
  if (far->getType()->isVectorTy()) far = ir.CreateOrReduce(far);
  return f.if_else(
      far, [&] { return FunctionBuilder::Values{exact()}; },
      [&] {
        Value* times = ir.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, quotient);
        Value* remainder = emit_fma(f, ir.CreateFNeg(times), y, x);
        remainder = ir.CreateSelect(ir.CreateFCmpOLT(remainder, number(0)), ir.CreateFAdd(remainder, y), remainder);
        remainder =
            ir.CreateSelect(ir.CreateFCmpOLT(quotient, number(1)), x, remainder);  // also for an infinite divisor
        remainder = ir.CreateFPTrunc(remainder, a->getType());
        return FunctionBuilder::Values{ir.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, remainder, a)};
      })[0];
}

}  // namespace gcg::cpu
