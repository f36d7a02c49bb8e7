// Emits separate code for each value that a number may have.
#pragma once

#include <functional>
#include <vector>

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// Emits body(key) for every key. The code for the key equal to `value` runs.
void emit_cases(FunctionBuilder& f, llvm::Value* value, const std::vector<int>& keys,
                const std::function<void(int)>& body);

}  // namespace gcg::cpu
