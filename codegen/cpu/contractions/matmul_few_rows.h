// Products of few rows and words of integers (block_weights.h, block_integers.h).
#pragma once

#include "codegen/cpu/contractions/matmul_plan.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// Emits the tasks of a product of at most plan.few_rows rows, in one block of row tiles.
void emit_few_rows(FunctionBuilder& f, const MatMulKernel& matmul, const MatMulPlan& plan);

}  // namespace gcg::cpu
