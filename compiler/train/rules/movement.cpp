// Gradients of operators that extract a part of their operand, place it in something larger, or resample it.
#include "compiler/ops/op_support.h"
#include "compiler/train/gradient_rule.h"

namespace gcg {
namespace {

using C = GradientContext;

/// One sliced axis: elements start at `begin`, and are a step apart.
struct SlicedAxis {
  int64_t axis;
  Formula begin;  // one i64
  int64_t step;
};

/// The start of a slice as a position in the axis. A known number stays a number, so that extents can be inferred.
Formula begin_of(C& c, size_t i, int64_t axis) {
  const Formula extent = extents_of(c.x(), axis, axis + 1);
  const Dim n = c.x().shape()[static_cast<size_t>(axis)];
  if (const auto known = known_ints(c.x(1).value())) {
    const int64_t start = known->at(i);
    if (n.is_constant())
      return c.ints({std::clamp<int64_t>(start < 0 ? start + n.constant() : start, 0, n.constant())});
    if (start >= 0) return c.ints({start});
    return c.make("Max", {extent + c.ints({start}), c.ints({0})});
  }
  const auto at = static_cast<int64_t>(i);
  const Formula start = cast(slice(c.x(1), 0, c.ints({at}), c.ints({at + 1})), DType::i64);
  const Formula wrapped = choose(compare("Less", start, 0), start + extent, start);
  return c.make("Min", {c.make("Max", {wrapped, c.ints({0})}), extent});
}

std::vector<SlicedAxis> sliced_axes(C& c) {
  const int64_t rank = c.x().rank();
  const size_t count = c.has_x(3)
                           ? c.known(3, "the axes").size()
                           : static_cast<size_t>(c.x(1).shape()[0].is_constant() ? c.x(1).shape()[0].constant() : 0);
  std::vector<SlicedAxis> sliced;
  for (size_t i = 0; i < count; ++i) {
    const int64_t axis = c.has_x(3) ? wrap_axis(c.known(3, "the axes")[i], rank) : static_cast<int64_t>(i);
    sliced.push_back({axis, begin_of(c, i, axis), c.has_x(4) ? c.known(4, "the steps").at(i) : 1});
  }
  return sliced;
}

/// x, padded with zeros along one axis: `before` of them in front, and at the end as many as the extents of `like`
/// need.
Formula widen(Formula x, int64_t axis, Formula before, Formula like) {
  FormulaWriter& w = *x.writer;
  const Formula after = extents_of(like, axis, axis + 1) - before - extents_of(x, axis, axis + 1);
  return w.make("Pad", {x, join({before, after}, 0), {}, w.ints({axis})});
}

/// x with step - 1 zeros after each element.
Formula spaced(Formula x, int64_t axis, int64_t step) {
  FormulaWriter& w = *x.writer;
  const Formula apart = unsqueeze(x, {axis + 1});
  const Formula wide = w.make("Pad", {apart, w.ints({0, step - 1}), {}, w.ints({axis + 1})});
  return reshape(wide, extents_but(x, axis, extents_of(x, axis, axis + 1) * w.ints({step})));
}

void slice_rule(C& c) {
  const std::vector<SlicedAxis> axes = sliced_axes(c);
  if (std::any_of(axes.begin(), axes.end(), [](const SlicedAxis& s) { return s.step < 0; })) {
    std::vector<Formula> inputs = {positions(c.x())};
    for (size_t i = 1; i < c.operands(); ++i) inputs.push_back(c.has_x(i) ? c.x(i) : Formula());
    return c.set(0, add_at(c.make("Slice", inputs), c.g(), c.x()));
  }
  Formula g = c.g();
  for (const SlicedAxis& s : axes) {
    if (s.step != 1) g = spaced(g, s.axis, s.step);
    g = widen(g, s.axis, s.begin, c.x());
  }
  c.set(0, g);
}

/// Padding by negative numbers removes the padding. Other modes repeat elements of x. The rule pads a tensor of element
/// positions in the same mode to find these elements.
void pad_rule(C& c) {
  const Formula x = c.x(), g = c.g();
  const std::string mode = c.node().string_attribute("mode", "constant");
  const Formula axes = c.has_x(3) ? c.x(3) : Formula();
  if (mode != "constant")
    return c.set(0, add_at(c.make("Pad", {positions(x), c.x(1), {}, axes}, {{"mode", mode}}), g, x));
  std::optional<std::vector<int64_t>> known = known_ints(c.x(1).value());
  if (known)
    for (int64_t& p : *known) p = -p;
  const Formula inner = c.make("Pad", {g, known ? c.ints(*known) : -c.x(1), {}, axes});
  c.set(0, inner);
  if (c.wants(2)) c.set(2, reshape_like(total(g) - total(inner), c.x(2)));
}

/// The matrix [in, out] that resizes one axis. Row i is the result of resizing the i-th unit vector.
Formula resizing(C& c, int64_t axis, size_t position) {
  const Formula x = c.x(), extent = extents_of(x, axis, axis + 1);
  const Formula eye = c.make("EyeLike", {zeros(x.dtype(), join({extent, extent}, 0))});
  std::map<std::string, Attribute> how = c.node().attributes;
  how.erase("axes");
  const auto at = static_cast<int64_t>(position);
  if (c.has_x(3)) return c.make("Resize", {eye, {}, {}, join({extent, extents_of(c.y(), axis, axis + 1)}, 0)}, how);
  const Formula scale = slice(c.x(2), 0, c.ints({at}), c.ints({at + 1}));
  return c.make("Resize", {eye, {}, join({c.constant(Tensor::from<float>(DType::f32, {1}, {1})), scale}, 0)}, how);
}

/// Resizing is linear along each axis, so the gradient is multiplied by the matrix of each axis.
void resize_rule(C& c) {
  if (c.node().string_attribute("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize")
    c.fail("tf_crop_and_resize has none");
  if (c.node().string_attribute("keep_aspect_ratio_policy", "stretch") != "stretch")
    c.fail("keep_aspect_ratio_policy must be 'stretch'");
  const int64_t rank = c.x().rank();
  const std::vector<int64_t> axes = c.node().ints_attribute("axes", axes_from(0, rank));
  Formula g = c.g();
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = wrap_axis(axes[i], rank);
    if (c.x().shape()[static_cast<size_t>(axis)] == c.y().shape()[static_cast<size_t>(axis)]) continue;
    g = move_axis(matmul(move_axis(g, axis, rank - 1), matrix_transpose(resizing(c, axis, i))), rank - 1, axis);
  }
  c.set(0, g);
}

void trilu_rule(C& c) { c.set(0, c.make("Trilu", {c.g(), c.has_x(1) ? c.x(1) : Formula()}, c.node().attributes)); }

void reverse_rule(C& c) { c.set(0, c.make("ReverseSequence", {c.g(), c.x(1)}, c.node().attributes)); }

constexpr GradientRow kRows[] = {
    {"Pad", pad_rule},     {"Resize", resize_rule}, {"ReverseSequence", reverse_rule},
    {"Slice", slice_rule}, {"Trilu", trilu_rule},
};

}  // namespace

std::span<const GradientRow> movement_gradients() { return kRows; }

}  // namespace gcg
