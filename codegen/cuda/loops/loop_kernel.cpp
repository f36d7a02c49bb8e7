#include "codegen/cuda/loops/loop_text.h"

namespace gcg::cuda {

KernelText emit_loop_kernel(const Kernel& kernel, const Target&) {
  const LoopPlan plan = plan_loops(kernel, std::get<LoopKernel>(kernel.body));
  switch (plan.mapping) {
    case Mapping::elements:
      return emit_elements(kernel, plan);
    case Mapping::groups:
      return emit_groups(kernel, plan);
    case Mapping::tiles:
      return emit_tiles(kernel, plan);
  }
  return {};
}

}  // namespace gcg::cuda
