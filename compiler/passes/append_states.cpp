#include "compiler/passes/append_states.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "compiler/ir/states.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// The axis along which the output is longer than the input; nullopt: their shapes are equal.
std::optional<size_t> growing_axis(const Graph& graph, const State& state) {
  const Shape& in = *graph.value(graph.inputs[state.input]).shape;
  const Shape& out = *graph.value(graph.outputs[state.output]).shape;
  std::optional<size_t> axis;
  bool fits = in.size() == out.size();
  for (size_t d = 0; fits && d < in.size(); ++d) {
    if (in[d] == out[d]) continue;
    fits = !axis && in[d].symbol_name().has_value();
    axis = d;
  }
  if (!fits)
    fail("state '", state.name, "': its input is ", str(in), " and its output '",
         graph.value(graph.outputs[state.output]).name, "' is ", str(out),
         "; they may differ along one axis, whose extent is open");
  return axis;
}

class Rewriter {
 public:
  Rewriter(Graph& graph, size_t rank) : graph_(graph), rank_(rank) {}

  void rewrite(State& state, size_t axis) {
    state.axis = static_cast<int>(axis);
    const ValueId past = graph_.inputs[state.input], present = graph_.outputs[state.output];
    const std::optional<std::vector<ValueId>> parts = appended(past, present, axis);
    const ValueId stored = stored_input(state, past, axis);
    if (!parts) {
      graph_.outputs[state.output] = axis == 0 ? present : to_front(present, axis);
      return;
    }
    const ValueId rows = axis == 0 ? joined(*parts, axis) : to_front(joined(*parts, axis), axis);
    const NodeId append = graph_.add_node(op("Append", "gart"), state.name + ".append", {stored, rows}, 1);
    const ValueId out = graph_.node(append).outputs[0];
    state.in_place = true;
    graph_.outputs[state.output] = out;
    graph_.replace_uses(present, axis == 0 ? out : transpose(out, from_front(axis)));
  }

 private:
  /// The parts that the output appends to the input, if the output is a Concat that begins with the input.
  std::optional<std::vector<ValueId>> appended(ValueId past, ValueId present, size_t axis) const {
    const NodeId id = graph_.value(present).producer;
    if (!id.valid()) return std::nullopt;
    const Node& n = graph_.node(id);
    const auto rank = static_cast<int64_t>(graph_.value(present).shape->size());
    if (n.op != &op("Concat") || (n.int_attribute("axis", 0) + rank) % rank != static_cast<int64_t>(axis))
      return std::nullopt;
    if (n.inputs.size() < 2 || n.inputs[0] != past || std::count(n.inputs.begin(), n.inputs.end(), past) > 1)
      return std::nullopt;
    return std::vector<ValueId>(n.inputs.begin() + 1, n.inputs.end());
  }

  /// The state's memory as an input whose first axis is `axis`. `past` becomes its transposition.
  ValueId stored_input(const State& state, ValueId past, size_t axis) {
    if (axis == 0) return past;
    const Value& model = graph_.value(past);
    Value stored;
    stored.name = state.name + ".rows";
    stored.dtype = model.dtype;
    stored.shape = Shape();
    for (int64_t d : front(axis)) stored.shape->push_back((*model.shape)[static_cast<size_t>(d)]);
    const ValueId id = graph_.add_value(std::move(stored));
    graph_.inputs[state.input] = id;
    graph_.replace_uses(past, transpose(id, from_front(axis)));
    return id;
  }

  ValueId joined(const std::vector<ValueId>& parts, size_t axis) {
    if (parts.size() == 1) return parts[0];
    return graph_.node(graph_.add_node(op("Concat"), "append", parts, 1, {{"axis", static_cast<int64_t>(axis)}}))
        .outputs[0];
  }

  std::vector<int64_t> front(size_t axis) const {
    std::vector<int64_t> perm(rank_);
    std::iota(perm.begin(), perm.end(), 0);
    std::rotate(perm.begin(), perm.begin() + static_cast<int64_t>(axis), perm.begin() + static_cast<int64_t>(axis) + 1);
    return perm;
  }

  std::vector<int64_t> from_front(size_t axis) const {
    std::vector<int64_t> perm(rank_);
    std::iota(perm.begin(), perm.end(), 0);
    std::rotate(perm.begin(), perm.begin() + 1, perm.begin() + static_cast<int64_t>(axis) + 1);
    return perm;
  }

  ValueId to_front(ValueId v, size_t axis) { return transpose(v, front(axis)); }

  ValueId transpose(ValueId v, std::vector<int64_t> perm) {
    const std::string name = graph_.value(v).name + ".transposed";
    return graph_.node(graph_.add_node(op("Transpose"), name, {v}, 1, {{"perm", std::move(perm)}})).outputs[0];
  }

  Graph& graph_;
  const size_t rank_;
};

}  // namespace

bool append_states(Graph& graph) {
  bool changed = false;
  for (State& state : graph.states) {
    if (state.axis >= 0) continue;
    if (!is_written(state)) {
      state.capacity = 0;
      continue;
    }
    const std::optional<size_t> axis = growing_axis(graph, state);
    if (!axis) {
      state.capacity = 0;  // a state that does not grow needs no capacity
      continue;
    }
    Rewriter(graph, graph.value(graph.inputs[state.input]).shape->size()).rewrite(state, *axis);
    changed = true;
  }
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
