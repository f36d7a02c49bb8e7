// Division by one number where the quotient is rounded to an integer, as elements are quantised.
#pragma once

#include <limits>
#include <optional>

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// The constant c of round_even(x / c) that emit_rounded_quotient does; nullopt: the expression is another one.
std::optional<float> divisor_before_rounding(const Expr& e);
/// round_even(x / c), the same for every x, without a division, which takes as long as ten multiplications.
llvm::Value* emit_rounded_quotient(FunctionBuilder& f, llvm::Value* x, float c);

/// x / divisor, rounded to an even integer at ties, plus zero, kept between the ends of an 8-bit type; of NaN the
/// lowest.
struct Quantization {
  Expr x;
  float divisor = 1;
  double zero = 0;
  DType dtype = DType::undefined;  // i8 or u8
};

/// What QuantizeLinear by one constant scale is lowered to; nullopt: the expression is another one.
std::optional<Quantization> quantization_of(const Expr& e);
/// The same for every x of which no absolute value is above `most`; `x` is q.x.
llvm::Value* emit_quantized(FunctionBuilder& f, llvm::Value* x, const Quantization& q,
                            double most = std::numeric_limits<double>::infinity());

/// The same by a divisor and a zero that a run knows.
struct LateQuantization {
  Expr x, divisor;
  Expr zero;                       // f32, of an 8-bit integer
  DType dtype = DType::undefined;  // i8 or u8
};
std::optional<LateQuantization> late_quantization_of(const Expr& e);
/// The same for every x and every divisor as a division gives, which is left out where the divisor allows it. `divisor`
/// and `zero` are scalars.
llvm::Value* emit_quantized(FunctionBuilder& f, llvm::Value* x, llvm::Value* divisor, llvm::Value* zero, DType dtype);

}  // namespace gcg::cpu
