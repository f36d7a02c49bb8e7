// The attribute kernel_shape of convolutions.
#pragma once

#include "compiler/ops/op_def.h"

namespace gcg {

/// If the node states its kernel's extents, they must equal those of the weights.
inline void require_stated_kernel(InferContext& ctx, const Shape& kernel) {
  const std::vector<int64_t> stated = ctx.node().ints_attribute("kernel_shape");
  for (size_t d = 0; d < stated.size() && d < kernel.size(); ++d)
    ctx.require_equal(kernel[d], stated[d], "kernel_shape and weights");
}

}  // namespace gcg
