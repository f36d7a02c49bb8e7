#include "codegen/cpu/expressions/integer_arithmetic.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Intrinsics.h>

#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

using llvm::Value;

Value* zero_like(Value* v) { return llvm::Constant::getNullValue(v->getType()); }
Value* number_like(Value* v, int64_t n) {
  return llvm::ConstantInt::get(v->getType(), static_cast<uint64_t>(n), /*IsSigned=*/true);
}

/// The scalar of a constant, or of a vector whose lanes all hold it; null for other values.
llvm::ConstantInt* constant_of(Value* v) {
  auto* c = llvm::dyn_cast<llvm::Constant>(v);
  if (c != nullptr && c->getType()->isVectorTy()) c = c->getSplatValue();
  return llvm::dyn_cast_or_null<llvm::ConstantInt>(c);
}

/// Quotient rounded towards zero and its remainder; both are zero if b is. The most negative number divided by -1
/// wraps.
struct Division {
  Value* quotient;
  Value* remainder;
};

/// The quotient of vectors of integers of at most 32 bits; x86 has only scalar integer divisions. A float type of
/// enough bits holds a and b exactly. The rounded quotient never reaches the next integer: the relative distance to
/// that integer is at least 1/a. Null for other types.
Value* divide_as_floats(FunctionBuilder& f, bool is_signed, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = f.ir();
  const unsigned bits = a->getType()->getScalarSizeInBits();
  if (!FunctionBuilder::is_vector(a) || bits > 32 || !f.target().is_x86()) return nullptr;
  llvm::Type* type = a->getType()->getWithNewType(bits > 16 ? ir.getDoubleTy() : ir.getFloatTy());
  const auto number = [&](Value* v) { return is_signed ? ir.CreateSIToFP(v, type) : ir.CreateUIToFP(v, type); };
  Value* quotient = ir.CreateFDiv(number(a), number(b));
  return is_signed ? ir.CreateFPToSI(quotient, a->getType()) : ir.CreateFPToUI(quotient, a->getType());
}

Division divide(FunctionBuilder& f, bool is_signed, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = f.ir();
  llvm::ConstantInt* constant = constant_of(b);
  const bool plain = constant != nullptr && !constant->isZero() && !(is_signed && constant->isMinusOne());
  Value* divisor = b;
  Value* by_zero = nullptr;
  Value* by_minus_one = nullptr;
  if (!plain) {
    by_zero = ir.CreateICmpEQ(b, zero_like(b));
    Value* unsafe = by_zero;
    if (is_signed) {
      by_minus_one = ir.CreateICmpEQ(b, number_like(b, -1));
      unsafe = ir.CreateOr(unsafe, by_minus_one);
    }
    divisor = ir.CreateSelect(unsafe, number_like(b, 1), b);
  }
  Value* q = plain ? nullptr : divide_as_floats(f, is_signed, a, divisor);
  if (q == nullptr) q = is_signed ? ir.CreateSDiv(a, divisor) : ir.CreateUDiv(a, divisor);
  if (by_minus_one != nullptr) q = ir.CreateSelect(by_minus_one, ir.CreateNeg(a), q);
  if (by_zero != nullptr) q = ir.CreateSelect(by_zero, zero_like(a), q);
  Value* r = ir.CreateSub(a, ir.CreateMul(q, b));
  if (by_zero != nullptr) r = ir.CreateSelect(by_zero, zero_like(a), r);
  return {q, r};
}

/// True if the remainder is not zero and its sign differs from the divisor's. Floor division then subtracts one.
Value* needs_floor_step(FunctionBuilder& f, Value* remainder, Value* b) {
  llvm::IRBuilder<>& ir = f.ir();
  Value* differ = ir.CreateICmpSLT(ir.CreateXor(remainder, b), zero_like(b));
  return ir.CreateAnd(ir.CreateICmpNE(remainder, zero_like(b)), differ);
}

Value* floor_divide(FunctionBuilder& f, bool is_signed, Value* a, Value* b) {
  const Division d = divide(f, is_signed, a, b);
  if (!is_signed) return d.quotient;
  Value* step = f.ir().CreateSExt(needs_floor_step(f, d.remainder, b), a->getType());  // -1 or 0
  return f.ir().CreateAdd(d.quotient, step);
}

/// floor_mod by an extent that only a run knows. Indices are usually in [-b, 2b), where additions replace the division.
/// Vectors would divide lane by lane. Null for other divisors.
Value* index_mod(FunctionBuilder& f, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = f.ir();
  Value* divisor = b->getType()->isVectorTy() ? llvm::getSplatValue(b) : b;
  if (divisor == nullptr || llvm::isa<llvm::Constant>(divisor) || !divisor->getType()->isIntegerTy(64)) return nullptr;
  Value* near = ir.CreateAdd(a, ir.CreateSelect(ir.CreateICmpSLT(a, zero_like(a)), b, zero_like(b)));
  near = ir.CreateSub(near, ir.CreateSelect(ir.CreateICmpSGE(near, b), b, zero_like(b)));
  Value* is_near = ir.CreateICmpULT(near, b);
  if (is_near->getType()->isVectorTy()) is_near = ir.CreateAndReduce(is_near);
  is_near = ir.CreateAnd(is_near, ir.CreateICmpSGT(divisor, zero_like(divisor)));
  const auto far = [&] {
    const Division d = divide(f, true, a, b);
    Value* step = ir.CreateSelect(needs_floor_step(f, d.remainder, b), b, zero_like(b));
    return FunctionBuilder::Values{ir.CreateAdd(d.remainder, step)};
  };
  return f.if_else(is_near, [&] { return FunctionBuilder::Values{near}; }, far)[0];
}

Value* floor_mod(FunctionBuilder& f, bool is_signed, Value* a, Value* b) {
  if (Value* near = is_signed ? index_mod(f, a, b) : nullptr) return near;
  const Division d = divide(f, is_signed, a, b);
  if (!is_signed) return d.remainder;
  Value* step = needs_floor_step(f, d.remainder, b);
  return f.ir().CreateAdd(d.remainder, f.ir().CreateSelect(step, b, zero_like(b)));
}

/// A shift by an amount outside [0, bits) shifts all bits out.
Value* shift(FunctionBuilder& f, bool left, bool is_signed, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = f.ir();
  const auto bits = static_cast<int64_t>(a->getType()->getScalarSizeInBits());
  Value* valid = ir.CreateICmpULT(b, number_like(b, bits));
  if (!left && is_signed) return ir.CreateAShr(a, ir.CreateSelect(valid, b, number_like(b, bits - 1)));
  Value* amount = ir.CreateSelect(valid, b, zero_like(b));
  Value* shifted = left ? ir.CreateShl(a, amount) : ir.CreateLShr(a, amount);
  return ir.CreateSelect(valid, shifted, zero_like(a));
}

/// a^b by repeated squaring; results wrap around. A negative exponent gives the reciprocal, truncated to an integer.
Value* power(FunctionBuilder& f, bool is_signed, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = f.ir();
  Value* one = number_like(a, 1);
  const auto bits = static_cast<int64_t>(a->getType()->getScalarSizeInBits());
  if (llvm::ConstantInt* c = constant_of(b); c != nullptr && c->getValue().ult(9)) {
    Value* result = one;
    for (uint64_t k = 0; k < c->getZExtValue(); ++k) result = ir.CreateMul(result, a);
    return result;
  }
  auto result = f.for_loop(f.i64(0), f.i64(bits), f.i64(1), {one, a, b},
                           [&](Value*, const FunctionBuilder::Values& v) -> FunctionBuilder::Values {
                             Value* odd = ir.CreateTrunc(v[2], v[2]->getType()->getWithNewBitWidth(1));
                             Value* next = ir.CreateSelect(odd, ir.CreateMul(v[0], v[1]), v[0]);
                             return {next, ir.CreateMul(v[1], v[1]), ir.CreateLShr(v[2], one)};
                           });
  if (!is_signed) return result[0];
  Value* minus_one = number_like(a, -1);
  Value* odd = ir.CreateTrunc(b, b->getType()->getWithNewBitWidth(1));
  Value* small = ir.CreateSelect(ir.CreateICmpEQ(a, minus_one), ir.CreateSelect(odd, minus_one, one),
                                 ir.CreateSelect(ir.CreateICmpEQ(a, one), one, zero_like(a)));
  return ir.CreateSelect(ir.CreateICmpSLT(b, zero_like(b)), small, result[0]);
}

Value* compare(FunctionBuilder& f, BinaryOp op, bool is_signed, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = f.ir();
  switch (op) {
    case BinaryOp::equal:
      return ir.CreateICmpEQ(a, b);
    case BinaryOp::not_equal:
      return ir.CreateICmpNE(a, b);
    case BinaryOp::less:
      return is_signed ? ir.CreateICmpSLT(a, b) : ir.CreateICmpULT(a, b);
    case BinaryOp::less_equal:
      return is_signed ? ir.CreateICmpSLE(a, b) : ir.CreateICmpULE(a, b);
    case BinaryOp::greater:
      return is_signed ? ir.CreateICmpSGT(a, b) : ir.CreateICmpUGT(a, b);
    case BinaryOp::greater_equal:
      return is_signed ? ir.CreateICmpSGE(a, b) : ir.CreateICmpUGE(a, b);
    default:
      return nullptr;
  }
}

/// Folds constants, which builders do for comparisons but not for intrinsics.
Value* extremum(FunctionBuilder& f, bool largest, bool is_signed, Value* a, Value* b) {
  using llvm::Intrinsic::smax, llvm::Intrinsic::smin, llvm::Intrinsic::umax, llvm::Intrinsic::umin;
  llvm::IRBuilder<>& ir = f.ir();
  if (llvm::isa<llvm::Constant>(a) && llvm::isa<llvm::Constant>(b)) {
    Value* greater = is_signed ? ir.CreateICmpSGT(a, b) : ir.CreateICmpUGT(a, b);
    return largest ? ir.CreateSelect(greater, a, b) : ir.CreateSelect(greater, b, a);
  }
  return ir.CreateBinaryIntrinsic(largest ? (is_signed ? smax : umax) : is_signed ? smin : umin, a, b);
}

}  // namespace

llvm::Value* emit_integer_unary(FunctionBuilder& f, UnaryOp op, DType dtype, llvm::Value* a) {
  llvm::IRBuilder<>& ir = f.ir();
  const bool is_signed = is_signed_int(dtype);
  switch (op) {
    case UnaryOp::neg:
      return ir.CreateNeg(a);
    case UnaryOp::abs:
      return is_signed ? ir.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, ir.getFalse()) : a;
    case UnaryOp::logical_not:
    case UnaryOp::bit_not:
      return ir.CreateNot(a);
    case UnaryOp::sign: {
      Value* nonzero = ir.CreateZExt(ir.CreateICmpNE(a, zero_like(a)), a->getType());
      return is_signed ? ir.CreateOr(ir.CreateAShr(a, a->getType()->getScalarSizeInBits() - 1), nonzero) : nonzero;
    }
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round_even:
      return a;
    case UnaryOp::is_nan:
    case UnaryOp::is_inf:
      return ir.CreateICmpNE(a, a);
    case UnaryOp::of_bits:
      return ir.CreateBitCast(a, f.type(dtype == DType::u32 ? DType::f32 : DType::f64, FunctionBuilder::lanes_of(a)));
    default:
      break;
  }
  GCG_CHECK(false, "unary operator ", static_cast<int>(op), " on ", name_of(dtype));
  return nullptr;
}

llvm::Value* emit_integer_binary(FunctionBuilder& f, BinaryOp op, DType dtype, llvm::Value* a, llvm::Value* b) {
  llvm::IRBuilder<>& ir = f.ir();
  const bool is_signed = is_signed_int(dtype);
  if (Value* v = compare(f, op, is_signed, a, b)) return v;
  switch (op) {
    case BinaryOp::add:
      return ir.CreateAdd(a, b);
    case BinaryOp::sub:
      return ir.CreateSub(a, b);
    case BinaryOp::mul:
      return ir.CreateMul(a, b);
    case BinaryOp::div:
      return divide(f, is_signed, a, b).quotient;
    case BinaryOp::fmod:
      return divide(f, is_signed, a, b).remainder;
    case BinaryOp::floor_div:
      return floor_divide(f, is_signed, a, b);
    case BinaryOp::mod:
      return floor_mod(f, is_signed, a, b);
    case BinaryOp::pow:
      return power(f, is_signed, a, b);
    case BinaryOp::max:
      return extremum(f, true, is_signed, a, b);
    case BinaryOp::min:
      return extremum(f, false, is_signed, a, b);
    case BinaryOp::logical_and:
    case BinaryOp::bit_and:
      return ir.CreateAnd(a, b);
    case BinaryOp::logical_or:
    case BinaryOp::bit_or:
      return ir.CreateOr(a, b);
    case BinaryOp::logical_xor:
    case BinaryOp::bit_xor:
      return ir.CreateXor(a, b);
    case BinaryOp::shift_left:
      return shift(f, true, is_signed, a, b);
    case BinaryOp::shift_right:
      return shift(f, false, is_signed, a, b);
    default:
      break;
  }
  GCG_CHECK(false, "binary operator ", static_cast<int>(op), " on ", name_of(dtype));
  return nullptr;
}

}  // namespace gcg::cpu
