#include "compiler/passes/separate_resize.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "compiler/ops/infer.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/resize_params.h"

namespace gcg {
namespace {

enum : size_t { kX, kScales = 2, kSizes = 3 };

ValueId non_empty_input(const Graph& graph, const Node& n, size_t i) {
  if (i >= n.inputs.size() || !n.inputs[i].valid() || product(*graph.value(n.inputs[i]).shape).is(0)) return ValueId();
  return n.inputs[i];
}

struct Changes {
  ResizeParams params;
  std::vector<ResizedDim> dims;  // those that change
};

/// Nullopt if fewer than two dimensions change, all must keep one ratio, or the result has no elements.
std::optional<Changes> changes_of(const Graph& graph, const Node& n) {
  if (n.op != &op_Resize || n.string_attribute("keep_aspect_ratio_policy", "stretch") != "stretch") return {};
  const ValueId scales = non_empty_input(graph, n, kScales), sizes = non_empty_input(graph, n, kSizes);
  const auto value = [&](ValueId v) { return v.valid() ? &graph.value(v) : nullptr; };
  ResizeParams params = resize_params(n, *graph.value(n.inputs[kX]).shape, &*graph.value(n.outputs[0]).shape,
                                      value(scales), value(sizes));
  std::vector<ResizedDim> dims;
  if (params.coordinates == "tf_half_pixel_for_nn") return {};  // moves dimensions that do not change
  // An extent of 0 has no ratio.
  if (std::ranges::any_of(params.dims, [](const ResizedDim& d) { return d.out && d.out->is(0); })) return {};
  for (const ResizedDim& d : params.dims)
    if (!d.ratio || !(d.ratio->up == d.ratio->down)) dims.push_back(d);
  if (dims.size() < 2) return {};
  return Changes{std::move(params), std::move(dims)};
}

using Rule = bool (*)(const Graph& graph, const Node& n, const Changes& changes);

bool has_antialias(const Graph&, const Node&, const Changes& changes) { return changes.params.antialias; }

/// True if the positions' distances to elements repeat after a few outputs. Kernels then know each tap's lane.
bool repeats_soon(const ResizeParams& params, const ResizedDim& d) {
  constexpr int64_t kMostPhases = 4;
  if (!d.ratio) return false;
  const SourceLine line = source_line(params, d);
  if (!line.slope.is_constant() || !line.divisor.is_constant()) return false;
  return line.divisor.constant() / std::gcd(line.slope.constant(), line.divisor.constant()) <= kMostPhases;
}

/// True if gathers of elements from rows are most of the work, and rows are not much longer than those of the result.
bool gathers_from_rows(const Graph& graph, const Node& n, const Changes& changes) {
  constexpr int64_t kMostShrunk = 6;
  const Shape& x = *graph.value(n.inputs[kX]).shape;
  const ResizedDim& last = changes.dims.back();
  const DType dtype = graph.value(n.inputs[kX]).dtype;  // other types would be rounded between the two nodes
  if (changes.params.mode == "nearest" || changes.params.antialias || changes.params.crops()) return false;
  if ((dtype != DType::f32 && dtype != DType::f64) || last.dim + 1 != x.size() || repeats_soon(changes.params, last))
    return false;
  if (n.has_attribute(kSymbolsAttribute)) return false;  // extents depend on data: each node would name its own
  const bool known = last.in.is_constant() && last.out && last.out->is_constant();
  return !known || last.in.constant() <= kMostShrunk * last.out->constant();
}

/// With antialias every dimension has a group of its own. Otherwise only the last one has: all others are interpolated
/// by loads of whole registers.
std::vector<std::vector<ResizedDim>> groups_of(const Changes& changes) {
  std::vector<std::vector<ResizedDim>> groups;
  for (const ResizedDim& d : changes.dims) {
    if (groups.empty() || changes.params.antialias || &d == &changes.dims.back()) groups.emplace_back();
    groups.back().push_back(d);
  }
  return groups;
}

/// The entries of a list for some dimensions.
ValueId entries(NodeBuilder& b, ValueId list, const std::vector<ResizedDim>& dims) {
  if (!list.valid()) return list;
  const TensorRef known = b.graph().value(list).constant;
  std::vector<ValueId> parts;
  Tensor some(known ? known->dtype() : DType::i64, {static_cast<int64_t>(dims.size())});
  for (size_t k = 0; k < dims.size(); ++k) {
    const auto at = static_cast<int64_t>(dims[k].position), to = static_cast<int64_t>(k);
    if (!known)
      parts.push_back(b.slice(list, 0, at, at + 1));
    else if (is_float(some.dtype()))
      some.set_double(to, known->at_double(at));
    else
      some.set_int(to, known->at_int(at));
  }
  return known ? b.constant(std::move(some)) : b.concat(std::move(parts), 0);
}

/// Makes a Resize of each group of dimensions, in their order.
void separate(Graph& graph, NodeId id, const std::vector<std::vector<ResizedDim>>& groups) {
  const Node& n = graph.node(id);
  NodeBuilder b(graph, n.name);
  const ValueId scales = non_empty_input(graph, n, kScales), sizes = non_empty_input(graph, n, kSizes),
                y = n.outputs[0];
  std::map<std::string, Attribute> attributes = n.attributes;
  attributes.erase(kSymbolsAttribute);
  ValueId x = n.inputs[kX];
  for (const std::vector<ResizedDim>& dims : groups) {
    std::vector<int64_t> axes;
    for (const ResizedDim& d : dims) axes.push_back(static_cast<int64_t>(d.dim));
    attributes["axes"] = axes;
    std::vector<ValueId> inputs = {x, ValueId(), entries(b, scales, dims)};
    if (sizes.valid()) inputs.push_back(entries(b, sizes, dims));
    x = b.node("Resize", inputs, attributes);
  }
  b.replace(y, x);
  graph.erase_node(id);
}

bool separate_all(Graph& graph, Rule rule) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i) changed |= separate_all(*graph.node(id).bodies[i], rule);
    const auto changes = changes_of(graph, graph.node(id));
    if (!changes || !rule(graph, graph.node(id), *changes)) continue;
    separate(graph, id, groups_of(*changes));
    changed = true;
  }
  return changed;
}

bool separate_and_infer(Graph& graph, Rule rule) {
  const bool changed = separate_all(graph, rule);
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace

bool separate_resize(Graph& graph) { return separate_and_infer(graph, has_antialias); }
bool separate_interpolation(Graph& graph) { return separate_and_infer(graph, gathers_from_rows); }

}  // namespace gcg
