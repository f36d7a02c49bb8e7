// Gradients of operators that read or write at indices. Elements that are read several times sum their gradients, in
// the order of the indices.
#include "compiler/ops/op_support.h"
#include "compiler/train/gradient_rule.h"

namespace gcg {
namespace {

using C = GradientContext;

const std::map<std::string, Attribute> kAdds = {{"reduction", std::string("add")}};

/// Gather of one known element: its gradient, surrounded by zeros.
void one_element(C& c, int64_t axis, int64_t index) {
  const Formula x = c.x(), extent = extents_of(x, axis, axis + 1);
  const Formula g = reshape(c.g(), extents_but(x, axis, c.ints({1})));
  const Formula before = c.ints({index});
  c.set(0, c.make("Pad", {g, join({before, extent - c.ints({index + 1})}, 0), {}, c.ints({axis})}));
}

void gather_rule(C& c) {
  const Formula x = c.x(0), indices = c.x(1);
  const int64_t axis = c.axis(0);
  const auto known = known_ints(indices.value());
  if (known && known->size() == 1) {
    const Dim extent = x.shape()[static_cast<size_t>(axis)];
    if (known->front() >= 0) return one_element(c, axis, known->front());
    if (extent.is_constant()) return one_element(c, axis, known->front() + extent.constant());
  }
  Formula g = c.g();
  for (int64_t i = 0; i < indices.rank(); ++i) g = move_axis(g, axis + i, i);
  const Formula like = move_axis(x, axis, 0);
  Formula rows = c.ints({-1});
  if (x.rank() > 1) rows = join({rows, extents_of(like, 1, x.rank())}, 0);
  const Formula added =
      c.make("ScatterND", {zeros_like(like), reshape(cast(indices, DType::i64), {-1, 1}), reshape(g, rows)}, kAdds);
  c.set(0, move_axis(added, 0, axis));
}

void gather_elements_rule(C& c) {
  std::map<std::string, Attribute> how = kAdds;
  how["axis"] = c.axis(0);
  c.set(0, c.make("ScatterElements", {zeros_like(c.x()), c.x(1), c.g()}, how));
}

void gather_nd_rule(C& c) {
  if (c.integer("batch_dims", 0) == 0) return c.set(0, c.make("ScatterND", {zeros_like(c.x()), c.x(1), c.g()}, kAdds));
  c.set(0, add_at(c.make("GatherND", {positions(c.x()), c.x(1)}, c.node().attributes), c.g(), c.x()));
}

/// Writes into x at indices: elements of x that are replaced have the gradient 0.
void scatter_rule(C& c, const char* scatter, const char* gather, const std::map<std::string, Attribute>& axis) {
  const std::string how = c.node().string_attribute("reduction", "none");
  if (how != "none" && how != "add") c.fail(concat("the reduction '", how, "' has none; 'none' and 'add' have one"));
  const Formula indices = c.x(1);
  if (c.wants(0)) c.set(0, how == "add" ? c.g() : c.make(scatter, {c.g(), indices, zeros_like(c.x(2))}, axis));
  if (c.wants(2)) c.set(2, c.make(gather, {c.g(), indices}, axis));
}

void scatter_elements_rule(C& c) { scatter_rule(c, "ScatterElements", "GatherElements", {{"axis", c.axis(0)}}); }
void scatter_nd_rule(C& c) { scatter_rule(c, "ScatterND", "GatherND", {}); }

/// Written rows replace rows of the cache. Rows past the cache's end are dropped, or with 'circular' continue at its
/// front.
void tensor_scatter_rule(C& c) {
  if (c.wants(0)) {
    std::vector<Formula> in = {c.g(), zeros_like(c.x(1))};
    if (c.has_x(2)) in.push_back(c.x(2));
    c.set(0, c.make("TensorScatter", in, c.node().attributes));
  }
  if (!c.wants(1)) return;
  const Formula cache = c.x(0), update = c.x(1);
  const int64_t axis = c.axis(-2);
  const auto column = [&](int64_t at) {
    std::vector<int64_t> shape(static_cast<size_t>(update.rank()), 1);
    shape[static_cast<size_t>(at)] = -1;
    return shape;
  };
  Formula at = reshape(range(squeeze(extents_of(update, axis, axis + 1), {0})), column(axis));
  if (c.has_x(2)) at = at + reshape(cast(c.x(2), DType::i64), column(0));
  const Formula rows = squeeze(extents_of(cache, axis, axis + 1), {0});
  const bool wraps = c.node().string_attribute("mode", "linear") == "circular";
  const Formula read = wraps ? c.make("Mod", {at, rows}) : c.make("Min", {at, rows - 1});
  const Formula g = c.make("GatherElements", {c.g(), expand_like(read, update)}, {{"axis", axis}});
  c.set(1, wraps ? g : choose(compare("Less", at, rows), g, 0));
}

void compress_rule(C& c) {
  c.set(0, add_at(c.make("Compress", {positions(c.x()), c.x(1)}, c.node().attributes), c.g(), c.x()));
}

void top_k_rule(C& c) {
  std::map<std::string, Attribute> how = kAdds;
  how["axis"] = c.axis(-1);
  c.set(0, c.make("ScatterElements", {zeros_like(c.x()), c.y(1), c.g()}, how));
}

constexpr GradientRow kRows[] = {
    {"Compress", compress_rule},
    {"Gather", gather_rule},
    {"GatherElements", gather_elements_rule},
    {"GatherND", gather_nd_rule},
    {"ScatterElements", scatter_elements_rule},
    {"ScatterND", scatter_nd_rule},
    {"TensorScatter", tensor_scatter_rule},
    {"TopK", top_k_rule},
};

}  // namespace

std::span<const GradientRow> index_gradients() { return kRows; }

}  // namespace gcg
