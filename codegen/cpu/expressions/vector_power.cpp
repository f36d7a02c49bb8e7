// x^y of floats, computed in doubles: 2^(y log2 |x|), and separately the sign and the exceptions of C's pow. In
// doubles, the product is precise enough for the exponent, and subnormal floats are normal numbers.
#include <llvm/IR/Intrinsics.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "codegen/cpu/expressions/vector_math.h"

namespace gcg::cpu {
namespace {

using llvm::Value;

class Power {
 public:
  Power(FunctionBuilder& f, Value* like)
      : ir_(f.ir()),
        float_(like->getType()),
        double_(float_->getWithNewType(ir_.getDoubleTy())),
        int_(float_->getWithNewType(ir_.getInt64Ty())) {}

  Value* emit(Value* x, Value* y) {
    Value* size = abs(ir_.CreateFPExt(x, double_));
    Value* wide_y = ir_.CreateFPExt(y, double_);
    Value* product = ir_.CreateFMul(wide_y, log2(size));
    // 1 to any power is 1, and any number to the power of 0 is 1. This includes NaN, inf and 0.
    Value* is_one = ir_.CreateOr(ir_.CreateFCmpOEQ(size, num(1)), ir_.CreateFCmpOEQ(wide_y, num(0)));
    product = ir_.CreateSelect(is_one, num(0), product);
    Value* result = ir_.CreateFPTrunc(exp2(product), float_);
    result = ir_.CreateSelect(ir_.CreateFCmpUNO(product, product), nan(), result);
    return with_sign(x, y, result);
  }

 private:
  Value* num(double v) { return llvm::ConstantFP::get(double_, v); }
  Value* single(double v) { return llvm::ConstantFP::get(float_, v); }
  Value* nan() { return single(std::numeric_limits<double>::quiet_NaN()); }
  Value* integer(uint64_t v) { return llvm::ConstantInt::get(int_, v); }
  Value* abs(Value* a) { return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a); }
  Value* fma(Value* a, Value* b, Value* c) {
    return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
  }
  template <size_t kCount>
  Value* polynomial(Value* x, const std::array<double, kCount>& c) {
    Value* sum = num(c.back());
    for (size_t i = c.size() - 1; i-- > 0;) sum = fma(sum, x, num(c[i]));
    return sum;
  }

  /// log2 of 0 and of positive numbers, by 7 terms of the series of the inverse hyperbolic tangent. Relative error
  /// 2^-39.
  Value* log2(Value* x) {
    constexpr uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd;  // mantissas lie between this number and its double
    Value* bits = ir_.CreateBitCast(x, int_);
    Value* n = ir_.CreateAShr(ir_.CreateSub(bits, integer(kRootOfHalf)), integer(52));
    Value* mantissa = ir_.CreateBitCast(ir_.CreateSub(bits, ir_.CreateShl(n, integer(52))), double_);
    Value* s = ir_.CreateFDiv(ir_.CreateFSub(mantissa, num(1)), ir_.CreateFAdd(mantissa, num(1)));
    std::array<double, 7> c{};
    for (size_t i = 0; i < c.size(); ++i) c.at(i) = 2 * std::numbers::log2e / static_cast<double>(2 * i + 1);
    Value* result = fma(polynomial(ir_.CreateFMul(s, s), c), s, as_double(n));
    result = ir_.CreateSelect(ir_.CreateFCmpOEQ(x, num(0)), num(-HUGE_VAL), result);
    return ir_.CreateSelect(ir_.CreateFCmpOLT(x, num(HUGE_VAL)), result, x);  // inf and NaN
  }

  /// Converts integers below 2^51: they are the low bits of a sum with 1.5 * 2^52. AVX2 has no such conversion.
  Value* as_double(Value* n) {
    Value* sum = ir_.CreateBitCast(ir_.CreateAdd(n, integer(kRoundBits)), double_);
    return ir_.CreateFSub(sum, num(kRound));
  }

  /// 2^p by 9 terms of the series on [-1/2, 1/2]. Results too small or too large for floats are 0 and inf. Relative
  /// error 2^-32.
  Value* exp2(Value* p) {
    constexpr double kBeyond = 200;
    p = ir_.CreateSelect(ir_.CreateFCmpOLT(num(kBeyond), p), num(kBeyond), p);
    p = ir_.CreateSelect(ir_.CreateFCmpOGT(num(-kBeyond), p), num(-kBeyond), p);
    Value* shifted = ir_.CreateFAdd(p, num(kRound));
    Value* rest = ir_.CreateFSub(p, ir_.CreateFSub(shifted, num(kRound)));
    std::array<double, 9> c{1};
    for (size_t i = 1; i < c.size(); ++i) c.at(i) = c.at(i - 1) * std::numbers::ln2 / static_cast<double>(i);
    // The shift removes the bits of kRound.
    Value* exponent = ir_.CreateShl(ir_.CreateBitCast(shifted, int_), integer(52));
    return ir_.CreateBitCast(ir_.CreateAdd(ir_.CreateBitCast(polynomial(rest, c), int_), exponent), double_);
  }

  Value* is_integer(Value* y) { return ir_.CreateFCmpOEQ(ir_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, y), y); }

  /// A negative base gives NaN unless the exponent is an integer; odd exponents give negative results. The base -inf
  /// takes every exponent.
  Value* with_sign(Value* x, Value* y, Value* of_size) {
    Value* whole = is_integer(y);
    Value* odd = ir_.CreateAnd(whole, ir_.CreateNot(is_integer(ir_.CreateFMul(y, single(0.5)))));
    Value* signed_one = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, single(1), x);
    Value* result = ir_.CreateSelect(odd, ir_.CreateFMul(of_size, signed_one), of_size);
    Value* negative = ir_.CreateAnd(ir_.CreateFCmpOLT(x, single(0)), ir_.CreateFCmpOGT(x, single(-HUGE_VAL)));
    return ir_.CreateSelect(ir_.CreateAnd(negative, ir_.CreateNot(whole)), nan(), result);
  }

  static constexpr double kRound = 0x1.8p52;  // adding it rounds a small double to an integer, kept in the lowest bits
  static constexpr uint64_t kRoundBits = 0x4338000000000000;
  llvm::IRBuilder<>& ir_;
  llvm::Type *float_, *double_, *int_;
};

}  // namespace

llvm::Value* emit_pow(FunctionBuilder& f, llvm::Value* x, llvm::Value* y) { return Power(f, x).emit(x, y); }

}  // namespace gcg::cpu
