// Division by one number whose quotient is rounded to an integer, as in quantisation.
#pragma once

#include <limits>
#include <optional>

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// The constant c of a round_even(x / c) that emit_rounded_quotient can emit. Nullopt: the expression has another form.
std::optional<float> divisor_before_rounding(const Expr& e);
/// round_even(x / c) without a division, with the same result for every x. A division takes as long as ten
/// multiplications.
llvm::Value* emit_rounded_quotient(FunctionBuilder& f, llvm::Value* x, float c);

/// x / divisor rounded (ties to even) plus zero, clamped to the range of an 8-bit type; NaN gives the lowest value.
struct Quantization {
  Expr x;
  float divisor = 1;
  double zero = 0;
  DType dtype = DType::undefined;  // i8 or u8
};

/// Matches the lowered form of QuantizeLinear with one constant scale. Nullopt: the expression has another form.
std::optional<Quantization> quantization_of(const Expr& e);
/// Emits the quantisation. It is correct for every x with an absolute value of at most `most`. `x` is the value of q.x.
llvm::Value* emit_quantized(FunctionBuilder& f, llvm::Value* x, const Quantization& q,
                            double most = std::numeric_limits<double>::infinity());

/// Quantization by a divisor and a zero known only at run time.
struct LateQuantization {
  Expr x, divisor;
  Expr zero;                       // an 8-bit integer as f32
  DType dtype = DType::undefined;  // i8 or u8
};
std::optional<LateQuantization> late_quantization_of(const Expr& e);
/// Emits the quantisation. The result is the same as with a division, for every x and every divisor. Divides only if
/// the divisor requires it. `divisor` and `zero` are scalars.
llvm::Value* emit_quantized(FunctionBuilder& f, llvm::Value* x, llvm::Value* divisor, llvm::Value* zero, DType dtype);

}  // namespace gcg::cpu
