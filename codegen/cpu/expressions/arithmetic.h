// The operators of expr.h on scalars or vectors in registers (see function_builder.h for their types). Operands of one
// operator are all scalars, or all vectors of one width. `dtype` says whether integers are signed.
#pragma once

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

llvm::Value* emit_unary(FunctionBuilder& f, UnaryOp op, DType dtype, llvm::Value* a);
/// `dtype` is the operands' type; comparisons and logical operators yield booleans.
llvm::Value* emit_binary(FunctionBuilder& f, BinaryOp op, DType dtype, llvm::Value* a, llvm::Value* b);
llvm::Value* emit_cast(FunctionBuilder& f, DType from, DType to, llvm::Value* a);
/// The constant of an ExprKind::constant node, as a scalar.
llvm::Value* emit_constant(FunctionBuilder& f, const ExprNode& constant);
/// One step of a reduction.
llvm::Value* emit_combine(FunctionBuilder& f, ReduceOp op, DType dtype, llvm::Value* a, llvm::Value* b);
/// Folds the upper half of a vector onto the lower one.
llvm::Value* emit_halve(FunctionBuilder& f, ReduceOp op, DType dtype, llvm::Value* vector);
/// Folds all lanes of a vector into a scalar, always pairing upper and lower halves.
llvm::Value* emit_horizontal(FunctionBuilder& f, ReduceOp op, DType dtype, llvm::Value* vector);

}  // namespace gcg::cpu
