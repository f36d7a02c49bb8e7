// The spatial dimensions of a transposed convolution.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Input position i adds x[i] * w[k] to output i * stride - pad_begin + k * dilation.
struct TransposedWindow {
  Dim input, kernel, output, pad_begin;
  int64_t stride, dilation;
};

/// One entry per spatial dimension of x[N, C, spatial...], w[C, CO / group, kernel...]. Fails, naming the attribute, if
/// one has a wrong length or value.
std::vector<TransposedWindow> transposed_windows(const Node& conv_transpose, const Shape& x, const Shape& w);

}  // namespace gcg
