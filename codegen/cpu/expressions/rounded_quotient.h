// Division by one number for all lanes where the quotient is rounded to an integer, as elements are quantised.
#pragma once

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// The quotient x / c of a round_even(x / c) of f32; null: the expression is another one.
const ExprNode* quotient_before_rounding(const Expr& e);
/// round_even(x / c), the same for every x, without a division per lane, which takes as long as ten multiplications.
/// Null where that is no gain: `c` differs between lanes, or only the run knows it and there is one lane, or it is a
/// constant by which one has to divide.
llvm::Value* emit_rounded_quotient(FunctionBuilder& f, llvm::Value* x, llvm::Value* c);

}  // namespace gcg::cpu
