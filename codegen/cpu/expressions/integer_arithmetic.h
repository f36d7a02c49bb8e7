// Integer and boolean operators of expr.h. No operand traps: division by zero gives zero, arithmetic wraps.
#pragma once

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

llvm::Value* emit_integer_unary(FunctionBuilder& f, UnaryOp op, DType dtype, llvm::Value* a);
llvm::Value* emit_integer_binary(FunctionBuilder& f, BinaryOp op, DType dtype, llvm::Value* a, llvm::Value* b);

}  // namespace gcg::cpu
