// Elementary functions of doubles, for vector_math.h.
#pragma once

#include "codegen/cpu/expressions/vector_arithmetic.h"

namespace gcg::cpu {

llvm::Value* emit_exp_f64(Math& m, llvm::Value* x);
llvm::Value* emit_log_f64(Math& m, llvm::Value* x);
llvm::Value* emit_tanh_f64(Math& m, llvm::Value* x);
llvm::Value* emit_sigmoid_f64(Math& m, llvm::Value* x);

}  // namespace gcg::cpu
