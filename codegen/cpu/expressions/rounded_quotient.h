// Division by one number with the quotient rounded to an integer, as in quantisation.
#pragma once

#include <limits>
#include <optional>

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// The constant c of a round_even(x / c) that emit_rounded_quotient can emit; nullopt: the expression is another one.
std::optional<float> divisor_before_rounding(const Expr& e);
/// round_even(x / c) with the same result for every x, without a division. A division takes as long as ten
/// multiplications.
llvm::Value* emit_rounded_quotient(FunctionBuilder& f, llvm::Value* x, float c);

/// x / divisor rounded (ties to even) plus zero, clamped to the range of an 8-bit type; NaN gives the lowest value.
struct Quantization {
  Expr x;
  float divisor = 1;
  double zero = 0;
  DType dtype = DType::undefined;  // i8 or u8
};

/// Matches the lowered form of QuantizeLinear by one constant scale; nullopt: the expression is another one.
std::optional<Quantization> quantization_of(const Expr& e);
/// Emits it; correct for every x with an absolute value of at most `most`. `x` is q.x.
llvm::Value* emit_quantized(FunctionBuilder& f, llvm::Value* x, const Quantization& q,
                            double most = std::numeric_limits<double>::infinity());

/// Quantization by a divisor and a zero known only at run time.
struct LateQuantization {
  Expr x, divisor;
  Expr zero;                       // an 8-bit integer as f32
  DType dtype = DType::undefined;  // i8 or u8
};
std::optional<LateQuantization> late_quantization_of(const Expr& e);
/// Emits it; the result equals that of a division for every x and every divisor. Divides only if the divisor requires
/// it. `divisor` and `zero` are scalars.
llvm::Value* emit_quantized(FunctionBuilder& f, llvm::Value* x, llvm::Value* divisor, llvm::Value* zero, DType dtype);

}  // namespace gcg::cpu
