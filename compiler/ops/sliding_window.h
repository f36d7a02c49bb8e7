// The sliding windows of convolutions and pools over the spatial dimensions of x[N, C, spatial...].
#pragma once

#include <vector>

#include "compiler/ops/op_support.h"

namespace gcg {

/// One spatial dimension. Tap k of output o reads position o * stride - pad_begin + k * dilation of the input.
struct WindowDim {
  Dim input, kernel, output;
  Dim pad_begin, pad_end;  // symbolic for auto_pad SAME over a symbolic input
  int64_t stride = 1, dilation = 1;
  bool overhangs = false;  // the last window may exceed the padded input: ceil_mode, or an oversized window

  /// The extent of input that a window covers, from its first to its last tap.
  Dim reach() const { return (kernel - 1) * dilation + 1; }
};
using Window = std::vector<WindowDim>;

/// Reads strides, dilations, pads and auto_pad of a convolution. `kernel` has one extent per spatial dimension of `x`.
/// Fails, naming the attribute, on a wrong length, a stride or dilation below 1, or a window larger than its padded
/// input.
Window window_of(const Node& node, const Shape& x, const Shape& kernel);
/// The same for a pool, with ceil_mode. ONNX rounds the number of a pool's steps towards zero. So a window that exceeds
/// its padded input by less than a stride still has one position. If it exceeds the input by a stride or more, but by
/// less than two, the output is empty; the extents must be known.
Window pool_window_of(const Node& node, const Shape& x, const Shape& kernel);

/// Records the conditions on input extents at run time: the window fits, and an output has an element to read.
void require_fit(InferContext& ctx, const Window& window);

/// True if every window provably holds an element of the input; false does not prove the opposite.
bool always_holds_an_element(const Window& window);

/// [N, C, output extents...]
Shape windowed_shape(const Dim& batch, const Dim& channels, const Window& window);

/// The taps of a window as reduction axes, and the input positions that they read.
struct Taps {
  std::vector<Axis> axes;
  std::vector<Expr> position;  // per spatial dimension, clamped into the input
  Expr inside;                 // true if the tap lies in the input; null if it always does
};
/// `at`: the output index, spatial dimensions only.
Taps taps_of(LowerContext& ctx, const Window& window, std::span<const Expr> at);

/// The same window with every extent known, for references.
struct PlainWindow {
  std::vector<int64_t> input, kernel, output, pad_begin, pad_end, stride, dilation;

  /// Sets `position` and returns true if tap `k` of output `o` lies in the input.
  bool read(const std::vector<int64_t>& o, const std::vector<int64_t>& k, std::vector<int64_t>& position) const;
};
PlainWindow plain_window(const Window& window);
/// The window of a convolution.
PlainWindow plain_window(const Node& node, const std::vector<int64_t>& x, const std::vector<int64_t>& kernel);

}  // namespace gcg
