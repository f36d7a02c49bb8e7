// Constants stored in fewer bits.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// The elements of an f32 constant, rounded to f16 or bf16. A GPU can compute them from `source` at load.
TensorRef rounded_constant(const TensorRef& source, DType to);

}  // namespace gcg
