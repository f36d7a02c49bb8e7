// Arithmetic on floats or doubles of one type, for the elementary functions (vector_math.h).
#pragma once

#include <llvm/IR/Intrinsics.h>

#include <initializer_list>

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

class Math {
 public:
  using Value = llvm::Value;

  /// `like`: a scalar or a vector.
  Math(FunctionBuilder& f, Value* like)
      : f_(f),
        ir_(f.ir()),
        type_(like->getType()),
        int_type_(type_->getWithNewType(f.ir().getIntNTy(type_->getScalarSizeInBits()))) {}

  bool of_doubles() const { return type_->getScalarType()->isDoubleTy(); }
  /// Adding it rounds a small number to an integer, kept in the lowest bits: below 2^21 for floats, 2^50 for doubles.
  double round() const { return of_doubles() ? 0x1.8p52 : 0x1.8p23; }

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
  /// An odd function: `near` if |x| < cut or x is NaN, otherwise `far` with the sign of x.
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

}  // namespace gcg::cpu
