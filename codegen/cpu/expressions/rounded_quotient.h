// Division by a constant where the quotient is rounded to an integer, as elements are quantised.
#pragma once

#include <optional>

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// The constant c of round_even(x / c) that emit_rounded_quotient does; nullopt: the expression is another one.
std::optional<float> divisor_before_rounding(const Expr& e);
/// round_even(x / c), the same for every x, without a division, which takes as long as ten multiplications.
llvm::Value* emit_rounded_quotient(FunctionBuilder& f, llvm::Value* x, float c);

}  // namespace gcg::cpu
