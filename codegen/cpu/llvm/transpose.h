// Transposes square tiles in registers.
#pragma once

#include <vector>

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// rows[i] lane j becomes result[j] lane i. There are as many rows as lanes, and rows are whole 16-byte blocks.
std::vector<llvm::Value*> emit_transpose(FunctionBuilder& f, const std::vector<llvm::Value*>& rows);

}  // namespace gcg::cpu
