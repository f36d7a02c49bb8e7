// Elementary functions of f32 scalars and vectors of any width, as straight-line code. Errors in tests/codegen.
#pragma once

#include "codegen/cpu/function_builder.h"

namespace gcg::cpu {

/// Whole range: denormal results, 0 and inf at the ends, NaN to NaN.
llvm::Value* emit_exp(FunctionBuilder& f, llvm::Value* x);
/// log(0) = -inf, negative: NaN, denormals exact.
llvm::Value* emit_log(FunctionBuilder& f, llvm::Value* x);
llvm::Value* emit_erf(FunctionBuilder& f, llvm::Value* x);
llvm::Value* emit_tanh(FunctionBuilder& f, llvm::Value* x);
/// 1 / (1 + exp(-x)).
llvm::Value* emit_sigmoid(FunctionBuilder& f, llvm::Value* x);
/// a * b + c with one rounding.
llvm::Value* emit_fma(FunctionBuilder& f, llvm::Value* a, llvm::Value* b, llvm::Value* c);

}  // namespace gcg::cpu
