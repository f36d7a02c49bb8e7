#include "compiler/train/windows.h"

#include <algorithm>

#include "compiler/ops/conv_transpose.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/sliding_window.h"

namespace gcg {
namespace {

std::vector<int64_t> joined(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The first elements of x along its axes from `first` on; their numbers are the extents of `like` from axis `from` on.
Formula cut(Formula x, int64_t first, Formula like, int64_t from) {
  const int64_t count = x.rank() - first;
  bool is_cut = true;
  for (int64_t d = 0; d < count; ++d)
    is_cut = is_cut && x.shape()[static_cast<size_t>(first + d)] == like.shape()[static_cast<size_t>(from + d)];
  if (is_cut) return x;
  FormulaWriter& w = *x.writer;
  return w.make("Slice", {x, w.ints(std::vector<int64_t>(static_cast<size_t>(count), 0)),
                          extents_of(like, from, from + count), w.ints(axes_from(first, x.rank()))});
}

/// The first elements of x along each spatial dimension; their number is the extent of `like`.
Formula cut(Formula x, Formula like) { return cut(x, 2, like, 2); }

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

/// The product of g and the columns of x, as matrices whose depth is the positions of the window in all images. Groups
/// are a batch of such products.
Formula WindowSteps::weights(Formula x, Formula g, Formula w, int64_t groups) const {
  FormulaWriter& writer = *x.writer;
  const auto spatial = static_cast<int64_t>(kernel.size());
  const Formula all = writer.results(
      op_gart_Columns, {x},
      {{"kernel_shape", kernel}, {"strides", strides}, {"dilations", dilations}, {"pads", joined(begin, end)}}, 1)[0];
  const Formula columns = cut(all, 2 + spatial, g, 2);
  std::vector<int64_t> channels_first = axes_from(0, g.rank());
  std::swap(channels_first[0], channels_first[1]);
  const auto matrix = [&](Formula v, int64_t axis) {  // the axes before `axis`, by those from it on
    const Formula flat = writer.make("Flatten", {v}, {{"axis", axis}});
    return groups == 1 ? flat : reshape(flat, join({writer.ints({groups, -1}), extents_of(flat, 1, 2)}, 0));
  };
  return reshape_like(matmul(matrix(transpose(g, channels_first), 1), matrix_transpose(matrix(columns, 1 + spatial))),
                      w);
}

}  // namespace gcg
