#include "compiler/passes/update_states.h"

#include <algorithm>

#include "compiler/ir/states.h"
#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

bool is_read_once(const Graph& graph, ValueId v) {
  const auto users = graph.users();
  return users[static_cast<size_t>(v.index)].size() == 1 &&
         std::find(graph.outputs.begin(), graph.outputs.end(), v) == graph.outputs.end();
}

/// The TensorScatter that makes the state's output, if a run may write its rows in place; otherwise an invalid id.
NodeId update_of(const Graph& graph, const State& state) {
  const ValueId before = graph.inputs[state.input], after = new_value(graph, state);
  const NodeId id = after.valid() ? graph.value(after).producer : NodeId();
  if (!id.valid()) return {};
  const Node& n = graph.node(id);
  if (n.op != &op("TensorScatter") || n.inputs[0] != before || n.string_attribute("mode", "linear") != "linear")
    return {};
  if (std::count(n.inputs.begin(), n.inputs.end(), before) != 1 || !is_read_once(graph, before)) return {};
  const bool has_first = n.inputs.size() > 2 && n.inputs[2].valid();
  return !has_first || graph.value(n.inputs[2]).shape->size() == 1 ? id : NodeId();
}

}  // namespace

bool update_states(Graph& graph) {
  bool changed = false;
  for (State& state : graph.states) {
    if (state.axis >= 0 || state.in_place) continue;
    const NodeId id = update_of(graph, state);
    if (!id.valid()) continue;
    Node& n = graph.node(id);
    n.attributes = {{"replaces", n.int_attribute("axis", -2)}};
    n.op = &op("Append", "gart");
    if (n.inputs.size() > 2 && !n.inputs[2].valid()) n.inputs.resize(2);
    state.in_place = changed = true;
  }
  return changed;
}

}  // namespace gcg
