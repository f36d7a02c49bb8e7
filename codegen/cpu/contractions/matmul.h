// Emits a matrix product according to its plan.
#pragma once

#include "codegen/cpu/contractions/matmul_plan.h"
#include "codegen/cpu/llvm/emit.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// Emits the kernel's tasks, each plan.grain units of work.
KernelEmission emit_matmul(FunctionBuilder& f, const Kernel& kernel, const MatMulKernel& matmul,
                           const MatMulPlan& plan);

}  // namespace gcg::cpu
