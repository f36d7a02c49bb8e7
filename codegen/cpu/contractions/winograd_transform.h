// The small matrices of Winograd's form applied to tiles of vectors, in registers.
#pragma once

#include <functional>

#include "codegen/cpu/llvm/function_builder.h"
#include "compiler/kernel/winograd.h"

namespace gcg::cpu {

/// m x m' of a square: element [row][column] of it comes from `load`, of the result goes to `store`. Both are called
/// when their turn is, since registers are few.
void transform_tile(FunctionBuilder& f, const WinogradForm::Matrix& m,
                    const std::function<llvm::Value*(size_t row, size_t column)>& load,
                    const std::function<void(size_t row, size_t column, llvm::Value*)>& store);

}  // namespace gcg::cpu
