#include "compiler/train/windows.h"

#include <algorithm>

#include "compiler/ops/conv_transpose.h"
#include "compiler/ops/sliding_window.h"

namespace gcg {
namespace {

std::vector<int64_t> joined(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The first elements of x along each spatial dimension; their number is the extent of `like`.
Formula cut(Formula x, Formula like) {
  const int64_t rank = x.rank();
  bool is_cut = true;
  for (size_t d = 2; d < x.shape().size(); ++d) is_cut = is_cut && x.shape()[d] == like.shape()[d];
  if (is_cut) return x;
  FormulaWriter& w = *x.writer;
  const std::vector<int64_t> axes = axes_from(2, rank);
  return w.make("Slice", {x, w.ints(std::vector<int64_t>(axes.size(), 0)), extents_of(like, 2, rank), w.ints(axes)});
}

int64_t number(GradientContext& c, const Dim& d, const char* role) {
  if (!d.is_constant())
    c.fail(concat(role, " is ", d.str(), ", it must be a known number: fix the extents with --dim"));
  return d.constant();
}

}  // namespace

WindowSteps WindowSteps::of(GradientContext& c, const Shape& x, const Shape& kernel, bool is_pool) {
  const Window window = is_pool ? pool_window_of(c.node(), x, kernel) : window_of(c.node(), x, kernel);
  WindowSteps steps;
  for (const WindowDim& w : window) {
    steps.kernel.push_back(number(c, w.kernel, "an extent of the window"));
    steps.strides.push_back(w.stride);
    steps.dilations.push_back(w.dilation);
    steps.begin.push_back(number(c, w.pad_begin, "the padding"));
    const Dim reached = (w.output - 1) * w.stride + w.reach() - w.input - w.pad_begin;
    steps.end.push_back(number(c, w.overhangs ? max(w.pad_end, reached) : w.pad_end, "the padding"));
  }
  return steps;
}

WindowSteps WindowSteps::of_transposed(GradientContext& c, const Shape& x, const Shape& w) {
  WindowSteps steps;
  for (const TransposedWindow& t : transposed_windows(c.node(), x, w)) {
    steps.kernel.push_back(number(c, t.kernel, "an extent of the window"));
    steps.strides.push_back(t.stride);
    steps.dilations.push_back(t.dilation);
    steps.begin.push_back(number(c, t.pad_begin, "the padding"));
    const Dim left = (t.input - 1) * t.stride + (t.kernel - 1) * t.dilation + 1 - t.pad_begin - t.output;
    steps.end.push_back(std::max<int64_t>(number(c, left, "the padding"), 0));
  }
  return steps;
}

/// Without padding at the end, the result contains every position that a tap reaches. A stride may leave further
/// positions, which are 0. The result is cut or extended to the extents of `like`.
Formula WindowSteps::spread(Formula g, Formula w, Formula like, int64_t groups) const {
  FormulaWriter& writer = *g.writer;
  std::vector<int64_t> none(kernel.size(), 0), more;
  for (int64_t s : strides) more.push_back(s - 1);
  const Formula all =
      writer.make("ConvTranspose", {g, w},
                  {{"strides", strides}, {"dilations", dilations}, {"pads", joined(begin, none)}, {"group", groups}});
  const bool reaches = [&] {
    for (size_t d = 0; d < kernel.size(); ++d)
      if ((all.shape()[d + 2] - like.shape()[d + 2]).lower_bound().value_or(-1) < 0) return false;
    return true;
  }();
  if (reaches) return cut(all, like);
  const std::vector<int64_t> pads = joined(joined({0, 0}, none), joined({0, 0}, more));
  return cut(writer.make("Pad", {all, writer.ints(pads)}), like);
}

Formula WindowSteps::gather(Formula x, Formula w, Formula like, int64_t groups) const {
  const std::map<std::string, Attribute> how = {
      {"strides", strides}, {"dilations", dilations}, {"pads", joined(begin, end)}, {"group", groups}};
  return cut(x.writer->make("Conv", {x, w}, how), like);
}

/// A convolution in which channels and batch are exchanged.
Formula WindowSteps::weights(Formula x, Formula g, Formula w, int64_t groups) const {
  FormulaWriter& writer = *x.writer;
  const std::map<std::string, Attribute> how = {
      {"strides", dilations}, {"dilations", strides}, {"pads", joined(begin, end)}, {"group", groups}};
  std::vector<int64_t> swapped = axes_from(0, x.rank());
  std::swap(swapped[0], swapped[1]);
  if (groups == 1)
    return transpose(cut(writer.make("Conv", {transpose(x, swapped), transpose(g, swapped)}, how), w), swapped);
  const auto split = [&](Formula v) {  // reshapes to [groups, N, channels of a group, ...]
    const Formula shape = join({extents_of(v, 0, 1), writer.ints({groups, -1}), extents_of(v, 2, v.rank())}, 0);
    return move_axis(reshape(v, shape), 1, 0);
  };
  const auto merged = [&](Formula v, int64_t first) {  // joins the axes `first` and `first` + 1
    std::vector<Formula> shape;
    if (first > 0) shape.push_back(extents_of(v, 0, first));
    shape.push_back(writer.ints({-1}));
    shape.push_back(extents_of(v, first + 2, v.rank()));
    return reshape(v, join(shape, 0));
  };
  const Formula channels_first = merged(move_axis(split(x), 2, 0), 1);  // [C / groups, groups * N, ...]
  const Formula filters = merged(move_axis(split(g), 2, 1), 0);         // [groups * M / groups, N, ...]
  return transpose(cut(writer.make("Conv", {channels_first, filters}, how), w), swapped);
}

}  // namespace gcg
