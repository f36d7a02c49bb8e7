#include "codegen/cpu/expressions/arithmetic.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <cmath>

#include "codegen/cpu/expressions/integer_arithmetic.h"
#include "codegen/cpu/expressions/vector_math.h"
#include "codegen/cpu/llvm/imports.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

using llvm::Value;
using llvm::Intrinsic::ID;

Value* zero_like(Value* v) { return llvm::Constant::getNullValue(v->getType()); }

/// Calls a C function of the import table for every lane.
Value* call_import(FunctionBuilder& f, const std::string& name, const std::vector<Value*>& args) {
  llvm::IRBuilder<>& ir = f.ir();
  llvm::Type* scalar = args[0]->getType()->getScalarType();
  auto* signature = llvm::FunctionType::get(scalar, std::vector<llvm::Type*>(args.size(), scalar), false);
  Value* callee = f.import(name);
  if (!FunctionBuilder::is_vector(args[0])) return ir.CreateCall(signature, callee, args);
  Value* result = zero_like(args[0]);
  for (int j = 0; j < FunctionBuilder::lanes_of(args[0]); ++j) {
    std::vector<Value*> lane;
    for (Value* a : args) lane.push_back(ir.CreateExtractElement(a, static_cast<uint64_t>(j)));
    result = ir.CreateInsertElement(result, ir.CreateCall(signature, callee, lane), static_cast<uint64_t>(j));
  }
  return result;
}

/// The same for a path that is rarely taken. Emits a loop over the lanes, because separate calls would be most of the
/// kernel's code.
Value* call_import_seldom(FunctionBuilder& f, const std::string& name, const std::vector<Value*>& args) {
  const int lanes = FunctionBuilder::lanes_of(args[0]);
  if (lanes == 1) return call_import(f, name, args);
  llvm::IRBuilder<>& ir = f.ir();
  llvm::Type* scalar = args[0]->getType()->getScalarType();
  const auto bytes = static_cast<int64_t>(scalar->getScalarSizeInBits() / 8) * lanes;
  std::vector<llvm::AllocaInst*> arrays;
  for (Value* a : args) {
    arrays.push_back(f.take_memory(std::max<int64_t>(bytes, 64)));
    ir.CreateStore(a, arrays.back());
  }
  f.for_loop(f.i64(0), f.i64(lanes), f.i64(1), [&](Value* lane) {
    std::vector<Value*> elements;
    for (llvm::AllocaInst* array : arrays) elements.push_back(ir.CreateLoad(scalar, ir.CreateGEP(scalar, array, lane)));
    ir.CreateStore(call_import(f, name, elements), ir.CreateGEP(scalar, arrays[0], lane));
  });
  Value* result = ir.CreateLoad(args[0]->getType(), arrays[0]);
  for (llvm::AllocaInst* array : arrays) f.give_memory(array);
  return result;
}

Value* float_sign(FunctionBuilder& f, Value* a) {
  llvm::IRBuilder<>& ir = f.ir();
  Value* zero = zero_like(a);
  Value* sign = ir.CreateSelect(ir.CreateFCmpOLT(a, zero), f.constant_like(a, -1.0), a);  // keeps 0, -0 and NaN
  return ir.CreateSelect(ir.CreateFCmpOGT(a, zero), f.constant_like(a, 1.0), sign);
}

Value* reciprocal(FunctionBuilder& f, Value* a) { return f.ir().CreateFDiv(f.constant_like(a, 1.0), a); }

/// Functions for which code is emitted for f32 alone.
Value* elementary_f32(FunctionBuilder& f, UnaryOp op, Value* a) {
  switch (op) {
    case UnaryOp::erf:
      return emit_erf(f, a);
    case UnaryOp::asin:
      return emit_asin(f, a);
    case UnaryOp::acos:
      return emit_acos(f, a);
    case UnaryOp::atan:
      return emit_atan(f, a);
    default:
      return nullptr;
  }
}

/// Functions for which code is emitted; null for functions that are imported.
Value* elementary(FunctionBuilder& f, UnaryOp op, DType dtype, Value* a) {
  const auto angle = [&](Angle which) {
    return emit_angle_function(f, which, a, [&] { return call_import_seldom(f, import_of(op, dtype), {a}); });
  };
  switch (op) {
    case UnaryOp::exp:
      return emit_exp(f, a);
    case UnaryOp::log:
      return emit_log(f, a);
    case UnaryOp::tanh:
      return emit_tanh(f, a);
    case UnaryOp::sigmoid:
      return emit_sigmoid(f, a);
    case UnaryOp::sin:
      return angle(Angle::sine);
    case UnaryOp::cos:
      return angle(Angle::cosine);
    case UnaryOp::tan:
      return angle(Angle::tangent);
    default:
      return dtype == DType::f32 ? elementary_f32(f, op, a) : nullptr;
  }
}

Value* float_unary(FunctionBuilder& f, UnaryOp op, DType dtype, Value* a) {
  llvm::IRBuilder<>& ir = f.ir();
  switch (op) {
    case UnaryOp::neg:
      return ir.CreateFNeg(a);
    case UnaryOp::abs:
      return ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
    case UnaryOp::sqrt:
      return ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
    case UnaryOp::rsqrt:
      return reciprocal(f, ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a));
    case UnaryOp::floor:
      return ir.CreateUnaryIntrinsic(llvm::Intrinsic::floor, a);
    case UnaryOp::ceil:
      return ir.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, a);
    case UnaryOp::round_even:
      return ir.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, a);
    case UnaryOp::reciprocal:
      return reciprocal(f, a);
    case UnaryOp::is_nan:
      return ir.CreateFCmpUNO(a, a);
    case UnaryOp::is_inf:
      return ir.CreateFCmpOEQ(ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a), f.constant_like(a, INFINITY));
    case UnaryOp::sign:
      return float_sign(f, a);
    case UnaryOp::bits:
      return ir.CreateBitCast(a, f.type(dtype == DType::f32 ? DType::u32 : DType::u64, FunctionBuilder::lanes_of(a)));
    default:
      break;
  }
  if (Value* v = elementary(f, op, dtype, a)) return v;
  const std::string name = import_of(op, dtype);
  GCG_CHECK(!name.empty(), "unary operator ", static_cast<int>(op), " on ", name_of(dtype));
  return call_import(f, name, {a});
}

/// The number of a constant whose lanes are all equal; null for other values.
const llvm::ConstantFP* number_of(const Value* v) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(v);
  if (constant && v->getType()->isVectorTy()) constant = constant->getSplatValue();
  return llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
}

/// max or min that is NaN when either side is.
Value* float_extremum(FunctionBuilder& f, bool largest, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = f.ir();
  if (!f.target().is_x86())
    return ir.CreateBinaryIntrinsic(largest ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, a, b);
  // The x86 instruction returns its second operand if either is NaN. `a` must be the second operand, because in a chain
  // of extrema it is the result so far. A constant `a` becomes `b`: it is never NaN. A value with all bits set is a
  // NaN, too, and `or` keeps LLVM from changing the instruction.
  if (number_of(a)) std::swap(a, b);
  const llvm::ConstantFP* number = number_of(b);
  if (number && number->isNaN()) return b;
  Value* result = ir.CreateSelect(largest ? ir.CreateFCmpOGT(b, a) : ir.CreateFCmpOLT(b, a), b, a);
  if (number) return result;
  llvm::Type* bits = a->getType()->getWithNewType(ir.getIntNTy(a->getType()->getScalarSizeInBits()));
  Value* nan = ir.CreateSExt(ir.CreateFCmpUNO(b, b), bits);
  return ir.CreateBitCast(ir.CreateOr(ir.CreateBitCast(result, bits), nan), a->getType());
}

/// x^y for the exponents that models often use; null for others.
Value* simple_power(FunctionBuilder& f, Value* x, Value* y) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(y);
  if (constant == nullptr) return nullptr;
  if (constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  if (number == nullptr) return nullptr;
  llvm::IRBuilder<>& ir = f.ir();
  if (number->isExactlyValue(1.0)) return x;
  if (number->isExactlyValue(2.0)) return ir.CreateFMul(x, x);
  if (number->isExactlyValue(3.0)) return ir.CreateFMul(ir.CreateFMul(x, x), x);
  if (number->isExactlyValue(-1.0)) return reciprocal(f, x);
  if (number->isExactlyValue(0.5)) {  // pow(-0, 0.5) = +0 and pow(-inf, 0.5) = inf, unlike sqrt
    Value* root = ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, ir.CreateFAdd(x, zero_like(x)));
    return ir.CreateSelect(ir.CreateFCmpOEQ(x, f.constant_like(x, -HUGE_VAL)), f.constant_like(x, HUGE_VAL), root);
  }
  return nullptr;
}

Value* float_remainder(FunctionBuilder& f, DType dtype, Value* a, Value* b) {
  return emit_remainder(f, a, b, [&] { return call_import_seldom(f, import_of(BinaryOp::fmod, dtype), {a, b}); });
}

/// The remainder with the divisor's sign.
Value* float_mod(FunctionBuilder& f, DType dtype, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = f.ir();
  Value* r = float_remainder(f, dtype, a, b);
  Value* zero = zero_like(a);
  Value* differ = ir.CreateXor(ir.CreateFCmpOLT(r, zero), ir.CreateFCmpOLT(b, zero));
  return ir.CreateSelect(ir.CreateAnd(ir.CreateFCmpUNE(r, zero), differ), ir.CreateFAdd(r, b), r);
}

Value* float_binary(FunctionBuilder& f, BinaryOp op, DType dtype, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = f.ir();
  switch (op) {
    case BinaryOp::add:
      return ir.CreateFAdd(a, b);
    case BinaryOp::sub:
      return ir.CreateFSub(a, b);
    case BinaryOp::mul:
      return ir.CreateFMul(a, b);
    case BinaryOp::div:
      return ir.CreateFDiv(a, b);
    case BinaryOp::mod:
      return float_mod(f, dtype, a, b);
    case BinaryOp::fmod:
      return float_remainder(f, dtype, a, b);
    case BinaryOp::pow: {
      if (Value* simple = simple_power(f, a, b)) return simple;
      return dtype == DType::f32 ? emit_pow(f, a, b) : call_import(f, import_of(op, dtype), {a, b});
    }
    case BinaryOp::max:
      return float_extremum(f, true, a, b);
    case BinaryOp::min:
      return float_extremum(f, false, a, b);
    case BinaryOp::equal:
      return ir.CreateFCmpOEQ(a, b);
    case BinaryOp::not_equal:
      return ir.CreateFCmpUNE(a, b);
    case BinaryOp::less:
      return ir.CreateFCmpOLT(a, b);
    case BinaryOp::less_equal:
      return ir.CreateFCmpOLE(a, b);
    case BinaryOp::greater:
      return ir.CreateFCmpOGT(a, b);
    case BinaryOp::greater_equal:
      return ir.CreateFCmpOGE(a, b);
    default:
      break;
  }
  GCG_CHECK(false, "binary operator ", static_cast<int>(op), " on ", name_of(dtype));
  return nullptr;
}

void check_arithmetic(DType dtype) {
  GCG_CHECK(dtype != DType::f16 && dtype != DType::bf16, name_of(dtype), " is a storage type: cast it to f32 first");
}

}  // namespace

llvm::Value* emit_unary(FunctionBuilder& f, UnaryOp op, DType dtype, llvm::Value* a) {
  check_arithmetic(dtype);
  return is_float(dtype) ? float_unary(f, op, dtype, a) : emit_integer_unary(f, op, dtype, a);
}

llvm::Value* emit_binary(FunctionBuilder& f, BinaryOp op, DType dtype, llvm::Value* a, llvm::Value* b) {
  check_arithmetic(dtype);
  const int lanes = std::max(FunctionBuilder::lanes_of(a), FunctionBuilder::lanes_of(b));
  a = f.splat(a, lanes);
  b = f.splat(b, lanes);
  return is_float(dtype) ? float_binary(f, op, dtype, a, b) : emit_integer_binary(f, op, dtype, a, b);
}

llvm::Value* emit_constant(FunctionBuilder& f, const ExprNode& constant) {
  llvm::Type* type = f.scalar_type(constant.dtype);
  if (type->isFloatingPointTy()) return llvm::ConstantFP::get(type, constant.number);
  if (is_float(constant.dtype))  // f16, bf16: as their bits
    return emit_cast(f, DType::f32, constant.dtype, f.f32(constant.number));
  return llvm::ConstantInt::get(type, static_cast<uint64_t>(constant.integer), true);
}

llvm::Value* emit_combine(FunctionBuilder& f, ReduceOp op, DType dtype, llvm::Value* a, llvm::Value* b) {
  switch (op) {
    case ReduceOp::sum:
      return emit_binary(f, BinaryOp::add, dtype, a, b);
    case ReduceOp::prod:
      return emit_binary(f, BinaryOp::mul, dtype, a, b);
    case ReduceOp::max:
      return emit_binary(f, BinaryOp::max, dtype, a, b);
    case ReduceOp::min:
      return emit_binary(f, BinaryOp::min, dtype, a, b);
    case ReduceOp::logical_and:
      return emit_binary(f, BinaryOp::logical_and, dtype, a, b);
    case ReduceOp::logical_or:
      return emit_binary(f, BinaryOp::logical_or, dtype, a, b);
  }
  return nullptr;
}

llvm::Value* emit_halve(FunctionBuilder& f, ReduceOp op, DType dtype, llvm::Value* vector) {
  const int lanes = FunctionBuilder::lanes_of(vector);
  GCG_CHECK(lanes > 1 && lanes % 2 == 0, "a vector of ", lanes, " lanes cannot be halved");
  std::vector<int> lower, upper;
  for (int j = 0; j < lanes / 2; ++j) {
    lower.push_back(j);
    upper.push_back(j + lanes / 2);
  }
  llvm::IRBuilder<>& ir = f.ir();
  Value* a = ir.CreateShuffleVector(vector, lower);
  Value* b = ir.CreateShuffleVector(vector, upper);
  if (lanes == 2) {  // after this step one lane is left, a scalar
    a = ir.CreateExtractElement(a, uint64_t{0});
    b = ir.CreateExtractElement(b, uint64_t{0});
  }
  return emit_combine(f, op, dtype, a, b);
}

llvm::Value* emit_horizontal(FunctionBuilder& f, ReduceOp op, DType dtype, llvm::Value* vector) {
  while (FunctionBuilder::is_vector(vector)) vector = emit_halve(f, op, dtype, vector);
  return vector;
}

}  // namespace gcg::cpu
