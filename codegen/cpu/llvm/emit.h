// Emits one kernel as one LLVM function. Each kind of kernel has its emitter; the backend chooses by the kernel's
// variant.
#pragma once

#include <string>

#include "compiler/ir/dim.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

class FunctionBuilder;

/// The facts, besides the code, that the runtime needs. The FunctionBuilder collects run-time parameters.
struct KernelEmission {
  Dim tasks = 1;          // number of independent tasks; the function runs [task_begin, task_end)
  Dim scratch_bytes = 0;  // per thread
  std::string note;       // for inspect --kernels
};

/// Each of these emits the whole body into `f` at its insertion point. Afterwards the insertion point is where the
/// function returns.
KernelEmission emit_body(FunctionBuilder& f, const Kernel& kernel, const LoopKernel& loop);
KernelEmission emit_body(FunctionBuilder& f, const Kernel& kernel, const ProgramKernel& program);
KernelEmission emit_body(FunctionBuilder& f, const Kernel& kernel, const MatMulKernel& matmul);
KernelEmission emit_body(FunctionBuilder& f, const Kernel& kernel, const AttentionKernel& attention);
KernelEmission emit_body(FunctionBuilder& f, const Kernel& kernel, const ConvKernel& conv);

}  // namespace gcg::cpu
