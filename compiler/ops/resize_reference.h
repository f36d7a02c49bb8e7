// The reference of Resize, which is separate from its lowering.
#pragma once

#include "compiler/ops/op_def.h"

namespace gcg {

std::vector<Tensor> reference_resize(ReferenceContext& ctx);

}  // namespace gcg
