// The optimizers of ONNX's preview domain for training.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// The gradients that an Adagrad, Adam or Momentum node reads; none for other operators.
std::vector<ValueId> optimizer_gradients(const Node& node);

}  // namespace gcg
