// Rules for data movement that moves nothing, or that takes two nodes instead of one.
#include <algorithm>

#include "compiler/ops/gart_view.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/canonicalize.h"

namespace gcg {
namespace {

bool keeps_shape(const Rewriter& r, const Node& n) {
  return r.has_shape(n.inputs[0]) && r.has_shape(n.outputs[0]) && r.shape(n.inputs[0]) == r.shape(n.outputs[0]);
}

bool drop(Rewriter& r, const Node& n) { return r.replace(n.outputs[0], n.inputs[0]); }

/// Extents that depend on data may differ from those of the input in a run; the Expand then reports an error.
bool drop_expand(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  return known_dims(r.value(n.inputs[1])) && keeps_shape(r, n) && drop(r, n);
}

/// If the output of a Tile has the input's shape, it has the input's elements.
bool drop_if_shape_stays(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  return keeps_shape(r, n) && drop(r, n);
}

bool known_to_be_all(const Rewriter& r, const Node& n, size_t input, int64_t number, bool if_omitted) {
  if (input >= n.inputs.size() || !n.inputs[input].valid()) return if_omitted;
  const auto ints = known_ints(r.value(n.inputs[input]));
  return ints && std::all_of(ints->begin(), ints->end(), [&](int64_t v) { return v == number; });
}

/// With steps of 1, a slice of the full extent begins at 0.
bool drop_slice(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  return keeps_shape(r, n) && known_to_be_all(r, n, 4, 1, true) && drop(r, n);
}

bool drop_pad(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  return keeps_shape(r, n) && known_to_be_all(r, n, 1, 0, false) && drop(r, n);
}

/// Removes a Concat, Sum, Max, Min or Mean of one input.
bool drop_if_single(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  return n.inputs.size() == 1 && keeps_shape(r, n) && drop(r, n);
}

std::vector<int64_t> permutation(const Rewriter& r, const Node& n) {
  std::vector<int64_t> reversed;
  for (size_t d = r.shape(n.inputs[0]).size(); d-- > 0;) reversed.push_back(static_cast<int64_t>(d));
  return n.ints_attribute("perm", reversed);
}

/// True if the dimensions whose extent is not 1 keep their order.
bool moves_only_units(const Shape& shape, const std::vector<int64_t>& perm) {
  int64_t last = -1;
  for (int64_t d : perm) {
    if (shape[static_cast<size_t>(d)].is(1)) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

bool simplify_transpose(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const ValueId x = n.inputs[0], y = n.outputs[0];
  if (!r.has_shape(x)) return false;
  std::vector<int64_t> perm = permutation(r, n);
  if (std::is_sorted(perm.begin(), perm.end())) return r.replace(y, x);
  if (moves_only_units(r.shape(x), perm)) {
    if (const auto view = express_view(r.graph, x, r.shape(y), {}))
      return r.replace(y, r.add(op_gart_View, n.name, view->inputs, {{"shape", view->shape}}));
  }
  const Node* inner = r.producer(x, op_Transpose);
  if (!inner) return false;
  const std::vector<int64_t> first = permutation(r, *inner);
  for (int64_t& d : perm) d = first[static_cast<size_t>(d)];
  const ValueId source = inner->inputs[0];
  if (std::is_sorted(perm.begin(), perm.end())) return r.replace(y, source);
  return r.replace(y, r.add(op_Transpose, n.name, {source}, {{"perm", perm}}));
}

/// The first index and the number of indices, if they count up by one. Negative indices count from the end of `extent`.
std::optional<std::pair<int64_t, int64_t>> index_run(const Tensor& indices, int64_t extent) {
  const int64_t count = indices.elements();
  if (count == 0 || indices.rank() > 1) return std::nullopt;
  const auto at = [&](int64_t i) { return indices.at_int(i) + (indices.at_int(i) < 0 ? extent : 0); };
  for (int64_t i = 0; i < count; ++i)
    if (at(i) != at(0) + i || at(i) < 0 || at(i) >= extent) return std::nullopt;
  return std::pair(at(0), count);
}

/// A Gather of consecutive constant indices becomes a slice, which later stages read in place. Vectors (shapes) stay.
bool gather_to_slice(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const ValueId x = n.inputs[0], y = n.outputs[0];
  const Tensor* indices = r.constant(n.inputs[1]);
  if (!indices || r.constant(x) || !r.has_shape(x) || r.shape(x).size() < 2) return false;
  const int64_t axis = wrap_axis(n.int_attribute("axis", 0), static_cast<int64_t>(r.shape(x).size()));
  const Dim& extent = r.shape(x)[static_cast<size_t>(axis)];
  if (!extent.is_constant()) return false;
  const auto run = index_run(*indices, extent.constant());
  if (!run) return false;
  const auto list = [&](int64_t v) { return r.add_constant(n.name, Tensor::vector_i64({v})); };
  ValueId slice = r.add(op_Slice, n.name, {x, list(run->first), list(run->first + run->second), list(axis)});
  if (indices->rank() == 0) {
    const auto view = express_view(r.graph, slice, r.shape(y), {});
    if (!view) return false;
    slice = r.add(op_gart_View, n.name, view->inputs, {{"shape", view->shape}});
  }
  return r.replace(y, slice);
}

}  // namespace

const std::vector<RuleFor>& movement_rules() {
  static const std::vector<RuleFor> rules = {
      {&op_Transpose, simplify_transpose}, {&op_Slice, drop_slice},   {&op_Pad, drop_pad},
      {&op_Gather, gather_to_slice},       {&op_Expand, drop_expand}, {&op_Tile, drop_if_shape_stays},
      {&op_Concat, drop_if_single},        {&op_Sum, drop_if_single}, {&op_Max, drop_if_single},
      {&op_Min, drop_if_single},           {&op_Mean, drop_if_single}};
  return rules;
}

}  // namespace gcg
