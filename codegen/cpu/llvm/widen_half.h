// 16-bit floats to f32. From f16 hidden from LLVM's passes while they run: they know that widening is exact and move
// comparisons and selects to the f16 side, which x86 then executes lane by lane.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "compiler/ir/dtype.h"

namespace gcg::cpu {

/// `bits` (i16, or a vector of it) of an f16 or bf16 as f32 of the same width.
llvm::Value* widen_half(llvm::IRBuilder<>& ir, DType from, llvm::Value* bits);

/// Puts the conversions from f16 in place. Runs after the passes.
void lower_widen_half(llvm::Module& module);

}  // namespace gcg::cpu
