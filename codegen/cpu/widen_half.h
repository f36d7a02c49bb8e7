// f16 bits to f32, hidden from LLVM's passes while they run. They know that widening is exact and move comparisons and
// selects to the f16 side, which x86 then executes lane by lane.
#pragma once

#include <llvm/IR/Module.h>

namespace gcg::cpu {

/// A pure function from `bits` (i16, or a vector of it) to f32 of the same width, to be called.
llvm::FunctionCallee declare_widen_half(llvm::Module& module, llvm::Type* bits);

/// Replaces all calls of such functions by the conversion. Runs after the passes.
void lower_widen_half(llvm::Module& module);

}  // namespace gcg::cpu
