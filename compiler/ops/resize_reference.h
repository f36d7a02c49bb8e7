// The reference of Resize, apart from its lowering.
#pragma once

#include "compiler/ops/op_def.h"

namespace gcg {

std::vector<Tensor> reference_resize(ReferenceContext& ctx);

}  // namespace gcg
