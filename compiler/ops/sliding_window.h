// The sliding windows of convolutions and pools over the spatial dimensions of x[N, C, spatial...].
#pragma once

#include <vector>

#include "compiler/ops/op_support.h"

namespace gcg {

/// One spatial dimension. Tap k of output o reads position o * stride - pad_begin + k * dilation of the input.
struct WindowDim {
  Dim input, kernel, output;
  Dim pad_begin, pad_end;  // symbolic with auto_pad SAME over a symbolic input
  int64_t stride = 1, dilation = 1;
  bool overhangs = false;  // the last window may reach beyond the padded input: ceil_mode, or a window larger than that

  /// Input positions from a window's first to past its last tap.
  Dim reach() const { return (kernel - 1) * dilation + 1; }
};
using Window = std::vector<WindowDim>;

/// Reads strides, dilations, pads and auto_pad of a convolution. `kernel` has one extent per spatial dimension of `x`.
/// Fails naming the attribute on a wrong length, a stride or dilation below 1, or a window larger than its padded
/// input.
Window window_of(const Node& node, const Shape& x, const Shape& kernel);
/// The same of a pool, with ceil_mode. ONNX rounds the number of a pool's steps towards zero: a window that is larger
/// than its padded input, by less than a stride, stands there once. By less than two: not at all, where the extents are
/// known.
Window pool_window_of(const Node& node, const Shape& x, const Shape& kernel);

/// Records what input extents the window needs at run time: that it fits, and reads an element where there is an
/// output.
void require_fit(InferContext& ctx, const Window& window);

/// Does every window hold an element of the input? Sufficient, not necessary.
bool always_holds_an_element(const Window& window);

/// [N, C, output extents...]
Shape windowed_shape(const Dim& batch, const Dim& channels, const Window& window);

/// The taps of a window as reduction axes, and where they read the input.
struct Taps {
  std::vector<Axis> axes;
  std::vector<Expr> position;  // per spatial dimension, clamped into the input
  Expr inside;                 // whether the tap lies in the input; null when it always does
};
/// `at`: the output index of the spatial dimensions.
Taps taps_of(LowerContext& ctx, const Window& window, std::span<const Expr> at);

/// The same window with every extent known, for references.
struct PlainWindow {
  std::vector<int64_t> input, kernel, output, pad_begin, pad_end, stride, dilation;

  /// Sets `position` and returns true where tap `k` of output `o` lies in the input.
  bool read(const std::vector<int64_t>& o, const std::vector<int64_t>& k, std::vector<int64_t>& position) const;
};
PlainWindow plain_window(const Window& window);
/// Of a convolution.
PlainWindow plain_window(const Node& node, const std::vector<int64_t>& x, const std::vector<int64_t>& kernel);

}  // namespace gcg
