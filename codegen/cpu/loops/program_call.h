// A program's call of a function that the application gave.
#pragma once

#include <functional>

#include "codegen/cpu/llvm/function_builder.h"
#include "compiler/kernel/program.h"

namespace gcg::cpu {

/// Fills a gart_op_call (runtime/include/gart/custom_op.h) in the stack frame and hands it over; the kernel ends with
/// the negative of what the function returns where that is not 0. `evaluate`: an i64 of the program here.
void emit_call(FunctionBuilder& f, const Statement& call, const std::function<llvm::Value*(const Expr&)>& evaluate);

}  // namespace gcg::cpu
