// LLVM's part of the work: it cleans up the emitted IR and makes object code.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <vector>

namespace gcg::cpu {

/// Runs scalar clean-up, hoisting, and the unrolling that loops request. Nothing is vectorised, because the emitters
/// write the vectors.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);

/// The module as a relocatable ELF object. Runs optimize first.
std::vector<char> compile_to_object(llvm::Module& module, llvm::TargetMachine& machine);

/// The module as assembly text, after optimize: for tests and for reading.
std::vector<char> compile_to_assembly(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace gcg::cpu
