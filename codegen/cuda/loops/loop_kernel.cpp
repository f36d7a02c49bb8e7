#include "codegen/cuda/loops/loop_text.h"

namespace gcg::cuda {

KernelText emit_loop_kernel(const Kernel& kernel, const Target&) {
  const LoopPlan plan = plan_loops(kernel, std::get<LoopKernel>(kernel.body));
  switch (plan.mapping) {
    case ThreadMapping::elements:
      return emit_elements(kernel, plan);
    case ThreadMapping::groups:
      return emit_groups(kernel, plan);
    case ThreadMapping::grid:
      return emit_grid(kernel, plan);
    case ThreadMapping::tiles:
      return emit_tiles(kernel, plan);
  }
  return {};
}

}  // namespace gcg::cuda
