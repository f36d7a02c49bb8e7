// The parameters of a MaxUnpool node.
#pragma once

#include <vector>

#include "compiler/ops/op_support.h"

namespace gcg {

struct UnpoolParams {
  // Pads: those before the first element of each dimension, then those after the last.
  std::vector<int64_t> kernel, strides, pads;

  /// Fails, naming the node, on attributes that do not fit an input of this rank.
  UnpoolParams(const Node& node, size_t rank);
  /// A dimension of n elements becomes one of n * stride + added.
  int64_t added(size_t d) const { return kernel[d] - strides[d] - pads[d] - pads[d + kernel.size()]; }
};

}  // namespace gcg
