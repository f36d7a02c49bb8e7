#include "compiler/ops/sliding_window.h"

#include <algorithm>

namespace gcg {
namespace {

std::vector<int64_t> spatial_ints(const Node& node, const std::string& name, size_t count, int64_t otherwise,
                                  int64_t least) {
  if (!node.has_attribute(name)) return std::vector<int64_t>(count, otherwise);
  const std::vector<int64_t> values = node.ints_attribute(name);
  if (values.size() != count) {
    fail_node(node, concat(name, " has ", values.size(), " values for an input that needs ", count));
  }
  for (int64_t v : values) {
    if (v < least) fail_node(node, concat(name, " contains ", v, ", the least is ", least));
  }
  return values;
}

/// SAME: the output has as many elements as strides fit in the input. An odd element of padding goes to the end (UPPER)
/// or to the start.
void pad_same(WindowDim& w, bool upper) {
  w.output = ceil_div(w.input, w.stride);
  const Dim total = max((w.output - 1) * w.stride + w.reach() - w.input, 0);
  w.pad_begin = upper ? floor_div(total, 2) : ceil_div(total, 2);
  w.pad_end = total - w.pad_begin;
}

Dim room_of(const WindowDim& w) { return w.input + w.pad_begin + w.pad_end - w.reach(); }

[[noreturn]] void fail_to_fit(const Node& node, size_t d, const WindowDim& w) {
  fail_node(node, concat("spatial axis ", d, ": a window of ", w.reach().str(), " does not fit into ", w.input.str(),
                         " plus padding ", w.pad_begin.str(), " and ", w.pad_end.str()));
}

void place_convolution(const Node& node, size_t d, WindowDim& w) {
  const Dim room = room_of(w);
  w.output = floor_div(room, w.stride) + 1;
  if (room.upper_bound().value_or(0) < 0 && !(w.input.is(0) && w.output.is(0))) fail_to_fit(node, d, w);
}

/// With ceil_mode, the last window may extend past the padded end. It must start inside the input or its front padding.
void place_pool(const Node& node, size_t d, WindowDim& w) {
  const Dim room = room_of(w);
  const bool ceil_mode = node.int_attribute("ceil_mode", 0) != 0;
  w.output = floor_div(room, w.stride) + 1;
  if (ceil_mode) w.output = min(ceil_div(room, w.stride), floor_div(w.input + w.pad_begin - 1, w.stride)) + 1;
  w.overhangs = ceil_mode;
  if (room.upper_bound().value_or(0) < 0) {
    if (!room.is_constant() || room.constant() <= -2 * w.stride) fail_to_fit(node, d, w);
    w.output = room.constant() > -w.stride && !w.input.is(0) ? 1 : 0;
    w.overhangs = true;
  } else if (!ceil_mode && !room.is_constant() && (room - w.input).lower_bound().value_or(0) < -1) {
    w.output = max(w.output, 1);
    w.overhangs = true;
  }
}

bool provably_at_least(const Dim& d, int64_t least) {
  const auto bound = d.lower_bound();
  return bound && *bound >= least;
}

using SetWindow = void (*)(const Node&, size_t, WindowDim&);

Window window_by(SetWindow set, const Node& node, const Shape& x, const Shape& kernel) {
  const size_t rank = x.size() - 2;
  if (kernel.size() != rank) {
    fail_node(node, concat("the kernel has ", kernel.size(), " dimensions, the input has ", rank, " spatial ones"));
  }
  const std::vector<int64_t> strides = spatial_ints(node, "strides", rank, 1, 1);
  const std::vector<int64_t> dilations = spatial_ints(node, "dilations", rank, 1, 1);
  const std::string auto_pad = node.string_attribute("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID")
    fail_node(node, concat("auto_pad '", auto_pad, "' is not known"));
  std::vector<int64_t> pads(rank * 2, 0);
  if (auto_pad == "NOTSET") pads = spatial_ints(node, "pads", rank * 2, 0, 0);
  Window window(rank);
  for (size_t d = 0; d < rank; ++d) {
    WindowDim& w = window[d];
    w.input = x[d + 2];
    w.kernel = kernel[d];
    w.stride = strides[d];
    w.dilation = dilations[d];
    w.pad_begin = pads[d];
    w.pad_end = pads[rank + d];
    if (same)
      pad_same(w, auto_pad == "SAME_UPPER");
    else
      set(node, d, w);
    if (w.input.is(0) && w.output.lower_bound().value_or(0) > 0) fail_to_fit(node, d, w);
  }
  return window;
}

}  // namespace

Window window_of(const Node& node, const Shape& x, const Shape& kernel) {
  return window_by(place_convolution, node, x, kernel);
}

Window pool_window_of(const Node& node, const Shape& x, const Shape& kernel) {
  return window_by(place_pool, node, x, kernel);
}

void require_fit(InferContext& ctx, const Window& window) {
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDim& w = window[d];
    const Dim beyond = w.reach() - w.pad_begin - w.pad_end;
    if (w.input.is_constant() || !beyond.is_constant() || (beyond.is(1) && !w.overhangs)) continue;
    const int64_t least = std::max<int64_t>(1, w.overhangs ? beyond.constant() - w.stride + 1 : beyond.constant());
    ctx.require_equal(max(w.input, least), w.input,
                      concat("spatial axis ", d, ": a window of ", w.reach().str(), " with padding ", w.pad_begin.str(),
                             " and ", w.pad_end.str(), " needs an extent of at least ", least));
  }
}

bool always_holds_an_element(const Window& window) {
  return std::all_of(window.begin(), window.end(), [](const WindowDim& w) {
    const auto within = [&](const Dim& pad) { return (w.kernel - 1 - pad).lower_bound().value_or(-1) >= 0; };
    return w.dilation == 1 && within(w.pad_begin) && within(w.pad_end);
  });
}

Shape windowed_shape(const Dim& batch, const Dim& channels, const Window& window) {
  Shape shape = {batch, channels};
  for (const WindowDim& w : window) shape.push_back(w.output);
  return shape;
}

Taps taps_of(LowerContext& ctx, const Window& window, std::span<const Expr> at) {
  Taps taps;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDim& w = window[d];
    taps.axes.push_back(ctx.fresh_axis(w.kernel));
    Expr p = at[d] * index(w.stride) - extent(w.pad_begin) + axis_ref(taps.axes.back()) * index(w.dilation);
    const Dim last_read = (w.output - 1) * w.stride - w.pad_begin + w.reach() - 1;
    const bool fits_end = (!w.overhangs && w.pad_end.is(0)) || provably_at_least(w.input - 1 - last_read, 0);
    const Expr last = extent(w.input - 1);
    if (!w.pad_begin.is(0)) {
      taps.inside = both(taps.inside, binary(BinaryOp::greater_equal, p, index(0)));
    }
    if (!fits_end) taps.inside = both(taps.inside, binary(BinaryOp::less_equal, p, last));
    if (!fits_end) p = binary(BinaryOp::min, p, last);
    if (!w.pad_begin.is(0)) p = binary(BinaryOp::max, p, index(0));
    taps.position.push_back(p);
  }
  return taps;
}

bool PlainWindow::read(const std::vector<int64_t>& o, const std::vector<int64_t>& k,
                       std::vector<int64_t>& position) const {
  position.resize(o.size());
  for (size_t d = 0; d < o.size(); ++d) {
    position[d] = o[d] * stride[d] - pad_begin[d] + k[d] * dilation[d];
    if (position[d] < 0 || position[d] >= input[d]) return false;
  }
  return true;
}

PlainWindow plain_window(const Window& window) {
  PlainWindow plain;
  for (const WindowDim& w : window) {
    plain.input.push_back(w.input.constant());
    plain.kernel.push_back(w.kernel.constant());
    plain.output.push_back(w.output.constant());
    plain.pad_begin.push_back(w.pad_begin.constant());
    plain.pad_end.push_back(w.pad_end.constant());
    plain.stride.push_back(w.stride);
    plain.dilation.push_back(w.dilation);
  }
  return plain;
}

PlainWindow plain_window(const Node& node, const std::vector<int64_t>& x, const std::vector<int64_t>& kernel) {
  return plain_window(window_of(node, to_shape(x), to_shape(kernel)));
}

}  // namespace gcg
