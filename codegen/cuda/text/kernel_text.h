// A kernel as CUDA C++ text, with what the runtime has to know to launch it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/kernel/backend.h"
#include "compiler/kernel/kernel.h"
#include "compiler/kernel/target.h"

namespace gcg::cuda {

/// One program with one function `extern "C" __global__ void __launch_bounds__(N[, M]) SYMBOL(...)`, with
/// `__cluster_dims__(cluster, 1, 1)` where blocks form clusters, launched as a row of blocks. Its parameters: one
/// pointer per operand of the kernel (const where it is not written), one long long per entry of `params`, `void*
/// workspace`, `unsigned int* status`, one `const __grid_constant__ GartTensorMap` per entry of `maps`.
struct KernelText {
  std::string symbol;
  std::string source;
  std::vector<Dim> params;   // run-time parameters, in the kernel's own symbols
  Dim tasks = 1;             // blocks; may be 0 where an extent is
  int cluster = 0;           // blocks of a cluster, of which tasks are a multiple; 0: none
  int threads = 128;         // of a block
  int64_t shared_bytes = 0;  // dynamic shared memory of a block
  Dim scratch_bytes = 0;     // workspace of one launch
  bool may_fail = false;     // sets *status where an index is out of range
  bool waits = false;        // these two as compiler/kernel/backend.h says
  std::vector<int> ahead;    // positions of the operands that it reads before it waits
  int64_t ahead_bytes = 0;   // of them, by one block
  std::vector<TensorMap> maps;
  int least_registers = 0;       // per thread at entry, that warpgroups may share out anew; 0: they do not
  std::string note;              // for inspect --kernels
  std::vector<KernelText> then;  // none, or the one launch that must follow this one, with the same workspace
};

/// Each kind of kernel has its emitter. They throw CompileError, or InternalError for a form that no pass should make.
KernelText emit_loop_kernel(const Kernel& kernel, const Target& target);
KernelText emit_matmul(const Kernel& kernel, const Target& target);
KernelText emit_plain_conv(const Kernel& kernel, const Target& target);
KernelText emit_attention(const Kernel& kernel, const Target& target);
KernelText emit_program(const Kernel& kernel, const Target& target);
/// Does no launch write the operand?
inline bool is_constant(const Kernel& kernel, int operand) {
  return kernel.operands[static_cast<size_t>(operand)].constant;
}
/// Picks by the kernel's variant.
KernelText emit_kernel(const Kernel& kernel, const Target& target);

}  // namespace gcg::cuda
