// Convolutions and transposed convolutions, from which the gradients of convolutions and pools are built.
#pragma once

#include "compiler/train/gradient_rule.h"

namespace gcg {

/// How a window moves over its input, one entry per spatial dimension.
struct WindowSteps {
  std::vector<int64_t> kernel, strides, dilations, begin, end;  // begin, end: padding

  /// The steps of a convolution or pool over x. Fails if a padding is not a known number.
  static WindowSteps of(GradientContext& c, const Shape& x, const Shape& kernel, bool is_pool);
  /// The steps of a transposed convolution. Its result is the input of the window.
  static WindowSteps of_transposed(GradientContext& c, const Shape& x, const Shape& w);

  /// The transposed convolution of g by w, with the spatial extents of `like`.
  Formula spread(Formula g, Formula w, Formula like, int64_t groups) const;
  /// The convolution of x by w, cut to the spatial extents of `like`.
  Formula gather(Formula x, Formula w, Formula like, int64_t groups) const;
  /// The gradient with respect to weights of the shape of `w`. Tap k of output o reads x at o * stride + k * dilation -
  /// begin; g is the gradient with respect to the output.
  Formula weights(Formula x, Formula g, Formula w, int64_t groups) const;
};

}  // namespace gcg
