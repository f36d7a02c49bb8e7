// Emits arithmetic on i64, and folds constants.
#pragma once

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// A half-open range of run-time values.
struct ValueRange {
  llvm::Value* begin = nullptr;
  llvm::Value* end = nullptr;
};

class IndexArithmetic {
 public:
  explicit IndexArithmetic(FunctionBuilder& f) : builder_(f) {}

  llvm::Value* add(llvm::Value* a, llvm::Value* b) { return builder_.ir().CreateAdd(a, b, "", false, true); }
  llvm::Value* sub(llvm::Value* a, llvm::Value* b) { return builder_.ir().CreateSub(a, b, "", false, true); }
  llvm::Value* mul(llvm::Value* a, llvm::Value* b) { return builder_.ir().CreateMul(a, b, "", false, true); }
  llvm::Value* mul(llvm::Value* a, int64_t b) { return mul(a, builder_.i64(b)); }
  llvm::Value* min(llvm::Value* a, llvm::Value* b) {
    return builder_.ir().CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
  }
  llvm::Value* max(llvm::Value* a, llvm::Value* b) {
    return builder_.ir().CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
  }
  /// Requires that no operand is negative.
  llvm::Value* div(llvm::Value* a, int64_t b) { return b == 1 ? a : builder_.ir().CreateUDiv(a, builder_.i64(b)); }

  /// The taps k with 0 <= out*stride - pad + k*dilation < extent. begin <= end, even if there are none.
  ValueRange kernel_range(llvm::Value* out, int64_t stride, int64_t pad, int64_t taps, int64_t dilation,
                          llvm::Value* extent) {
    llvm::Value* first = sub(mul(out, stride), builder_.i64(pad));
    llvm::Value* before = max(sub(builder_.i64(0), first), builder_.i64(0));
    llvm::Value* left = max(sub(extent, first), builder_.i64(0));
    llvm::Value* round_up = builder_.i64(dilation - 1);
    llvm::Value* end = min(div(add(left, round_up), dilation), builder_.i64(taps));
    return {min(div(add(before, round_up), dilation), end), end};
  }

 private:
  FunctionBuilder& builder_;
};

}  // namespace gcg::cpu
