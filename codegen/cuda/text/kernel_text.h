// A kernel as CUDA C++ text, with the data that the runtime needs to launch it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/kernel/backend.h"
#include "compiler/kernel/kernel.h"
#include "compiler/kernel/target.h"

namespace gcg::cuda {

/// One program with one function `extern "C" __global__ void __launch_bounds__(N[, M]) SYMBOL(...)`, launched as a row
/// of blocks. The function has `__cluster_dims__(cluster, 1, 1)` if blocks form clusters. Its parameters are: one
/// pointer per operand of the kernel (const if it is not written), one long long per entry of `params`, `void*
/// workspace`, `unsigned int* status`, one `const __grid_constant__ GartTensorMap` per entry of `maps`.
struct KernelText {
  std::string symbol;
  std::string source;
  std::vector<Dim> params;   // run-time parameters, in the kernel's own symbols
  Dim tasks = 1;             // number of blocks; may be 0 if an extent is 0
  int cluster = 0;           // blocks per cluster; tasks are a multiple of it; 0: no clusters
  int threads = 128;         // threads per block
  int64_t shared_bytes = 0;  // dynamic shared memory per block
  Dim scratch_bytes = 0;     // workspace per launch
  bool may_fail = false;     // sets *status where an index is out of range
  bool waits = false;        // for this and `ahead`, see compiler/kernel/backend.h
  std::vector<int> ahead;    // positions of the operands that the kernel reads before it waits
  int64_t ahead_bytes = 0;   // bytes of these operands that one block reads
  std::vector<TensorMap> maps;
  int least_registers = 0;       // registers per thread at entry, which warpgroups may redistribute; 0: no
                                 // redistribution
  std::string note;              // for inspect --kernels
  std::vector<KernelText> then;  // empty, or the one launch that must follow this one, with the same workspace
};

/// The emitters, one per kind of kernel. They throw CompileError, or InternalError for a kernel that no pass should
/// make.
KernelText emit_loop_kernel(const Kernel& kernel, const Target& target);
KernelText emit_matmul(const Kernel& kernel, const Target& target);
KernelText emit_plain_conv(const Kernel& kernel, const Target& target);
KernelText emit_attention(const Kernel& kernel, const Target& target);
KernelText emit_program(const Kernel& kernel, const Target& target);
/// True if no launch writes the operand.
inline bool is_constant(const Kernel& kernel, int operand) {
  return kernel.operands[static_cast<size_t>(operand)].constant;
}
/// Calls the emitter for the kernel's variant.
KernelText emit_kernel(const Kernel& kernel, const Target& target);

}  // namespace gcg::cuda
