#include "codegen/cuda/kernel_text.h"
#include "compiler/support/error.h"

namespace gcg::cuda {

KernelText emit_kernel(const Kernel& kernel, const Target& target) {
  if (std::holds_alternative<LoopKernel>(kernel.body)) return emit_loop_kernel(kernel, target);
  if (std::holds_alternative<MatMulKernel>(kernel.body)) return emit_matmul(kernel, target);
  if (std::holds_alternative<PlainConvKernel>(kernel.body)) return emit_plain_conv(kernel, target);
  if (std::holds_alternative<AttentionKernel>(kernel.body)) return emit_attention(kernel, target);
  GCG_CHECK(false, "kernel '", kernel.name, "': convolutions on blocked channels are for CPUs");
  return {};
}

}  // namespace gcg::cuda
