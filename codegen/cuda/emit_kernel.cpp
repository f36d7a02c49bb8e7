#include "codegen/cuda/text/kernel_text.h"
#include "compiler/kernel/machine.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

KernelText emit(const Kernel& kernel, const Target& target) {
  if (std::holds_alternative<LoopKernel>(kernel.body)) return emit_loop_kernel(kernel, target);
  if (std::holds_alternative<MatMulKernel>(kernel.body)) return emit_matmul(kernel, target);
  if (std::holds_alternative<PlainConvKernel>(kernel.body)) return emit_plain_conv(kernel, target);
  if (std::holds_alternative<AttentionKernel>(kernel.body)) return emit_attention(kernel, target);
  if (std::holds_alternative<ProgramKernel>(kernel.body)) return emit_program(kernel, target);
  GCG_CHECK(false, "kernel '", kernel.name, "': convolutions on blocked channels are for CPUs");
  return {};
}

}  // namespace

KernelText emit_kernel(const Kernel& kernel, const Target& target) {
  KernelText text = emit(kernel, target);
  if (!machine_of(target).overlaps_launches) return text;  // device/gart_grid.cuh
  text.waits = true;
  if (text.ahead_bytes > 0) text.note += concat(", ", text.ahead_bytes, " bytes ahead");
  for (KernelText* next = &text; !next->then.empty();) {
    next = &next->then.front();
    next->waits = true;
  }
  return text;
}

}  // namespace gcg::cuda
