// A program's call of a function supplied by the application.
#pragma once

#include <functional>

#include "codegen/cpu/llvm/function_builder.h"
#include "compiler/kernel/program.h"

namespace gcg::cpu {

/// Fills a gart_op_call (runtime/include/gart/custom_op.h) in the stack frame and calls the function with it. If the
/// function returns a value other than 0, the kernel returns its negative. `evaluate` emits an i64 expression of the
/// program at this place.
void emit_call(FunctionBuilder& f, const Statement& call, const std::function<llvm::Value*(const Expr&)>& evaluate);

}  // namespace gcg::cpu
