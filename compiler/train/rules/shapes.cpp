// Gradients of operators that keep, repeat or reorder whole axes.
#include "compiler/ops/op_support.h"
#include "compiler/train/gradient_rule.h"

namespace gcg {
namespace {

using C = GradientContext;

void same_elements(C& c) { c.set(0, reshape_like(c.g(), c.x())); }

void transpose_rule(C& c) {
  const int64_t rank = c.x().rank();
  std::vector<int64_t> order = axes_from(0, rank), back(order.size());
  std::reverse(order.begin(), order.end());
  order = c.node().ints_attribute("perm", order);
  for (size_t i = 0; i < order.size(); ++i)
    back[static_cast<size_t>(wrap_axis(order[i], rank))] = static_cast<int64_t>(i);
  c.set(0, transpose(c.g(), back));
}

/// Repetitions become a separate axis, over which the gradient is summed.
void tile_rule(C& c) {
  const Formula x = c.x(), repeats = c.x(1);
  std::vector<Formula> shape;
  std::vector<int64_t> axes;
  for (int64_t d = 0; d < x.rank(); ++d) {
    axes.push_back(2 * d);
    shape.push_back(slice(repeats, 0, c.ints({d}), c.ints({d + 1})));
    shape.push_back(extents_of(x, d, d + 1));
  }
  if (x.rank() == 0) return c.set(0, c.g());
  c.set(0, sum(reshape(c.g(), join(shape, 0)), axes, false));
}

void concat_rule(C& c) {
  const int64_t axis = c.axis(0);
  std::vector<Formula> sizes;
  for (size_t i = 0; i < c.operands(); ++i) sizes.push_back(extents_of(c.x(i), axis, axis + 1));
  if (sizes.size() == 1) return c.set(0, c.g());
  const std::vector<Formula> parts = c.results(op("Split"), {c.g(), join(sizes, 0)}, {{"axis", axis}}, sizes.size());
  for (size_t i = 0; i < parts.size(); ++i) c.set(i, parts[i]);
}

void split_rule(C& c) {
  std::vector<Formula> parts;
  for (size_t i = 0; i < c.node().outputs.size(); ++i) parts.push_back(c.g(i));
  c.set(0, join(parts, c.axis(0)));
}

/// Views [B, C, H, W] as [B, blocks, blocks, C', H, W] (DCR) or [B, C', blocks, blocks, H, W] (CRD).
void depth_to_space_rule(C& c) {
  const int64_t block = c.integer("blocksize", 1);
  const Formula g = c.g();
  if (c.node().string_attribute("mode", "DCR") == "DCR")
    return c.set(0, c.make("SpaceToDepth", {g}, {{"blocksize", block}}));
  const Formula rows = extents_of(c.x(), 2, 3), columns = extents_of(c.x(), 3, 4), size = c.ints({block});
  const Formula split = reshape(g, join({extents_of(g, 0, 2), rows, size, columns, size}, 0));  // [B, C', H, b, W, b]
  c.set(0, reshape_like(transpose(split, {0, 1, 3, 5, 2, 4}), c.x()));
}

void space_to_depth_rule(C& c) {
  c.set(0, c.make("DepthToSpace", {c.g()}, {{"blocksize", c.integer("blocksize", 1)}, {"mode", std::string("DCR")}}));
}

void as_first(C& c) { c.set(0, c.g()); }

constexpr GradientRow kRows[] = {
    {"ConstantOfShape", zero_gradient},
    {"EyeLike", zero_gradient},
    {"Concat", concat_rule},
    {"DepthToSpace", depth_to_space_rule},
    {"Dropout", as_first},
    {"Expand", as_first},
    {"Flatten", same_elements},
    {"Identity", as_first},
    {"Reshape", same_elements},
    {"SpaceToDepth", space_to_depth_rule},
    {"Split", split_rule},
    {"Squeeze", same_elements},
    {"Tile", tile_rule},
    {"Transpose", transpose_rule},
    {"Unsqueeze", same_elements},
};

}  // namespace

std::span<const GradientRow> shape_gradients() { return kRows; }

}  // namespace gcg
