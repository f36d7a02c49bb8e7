// Widens 16-bit floats to f32. The conversion from f16 is hidden from LLVM's passes. They would use its exactness to
// move comparisons and selects to f16, which x86 executes lane by lane.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "compiler/ir/dtype.h"

namespace gcg::cpu {

/// The f32 of the f16 or bf16 `bits` (i16, or a vector of i16), of the same width.
llvm::Value* widen_half(llvm::IRBuilder<>& ir, DType from, llvm::Value* bits);

/// Replaces the hidden conversions from f16 by instructions. Runs after the passes.
void lower_widen_half(llvm::Module& module);

}  // namespace gcg::cpu
