#include "compiler/passes/order_states.h"

#include <algorithm>
#include <set>

#include "compiler/ir/states.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

void check_apart(const Graph& graph) {
  std::set<std::string> names;
  std::set<size_t> inputs, outputs;
  for (const State& state : graph.states) {
    if (!names.insert(state.name).second) fail("two states of '", graph.name, "' are called '", state.name, "'");
    if (!inputs.insert(state.input).second)
      fail("input '", graph.value(graph.inputs[state.input]).name, "' is in two states");
    if (is_written(state) && !outputs.insert(state.output).second)
      fail("output '", graph.value(graph.outputs[state.output]).name, "' is in two states");
  }
}

/// True if the value, output `position`, is also an input or another output of the graph.
bool is_shared(const Graph& graph, ValueId value, size_t position) {
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    if (i != position && graph.outputs[i] == value) return true;
  return !graph.value(value).producer.valid();
}

/// Moves the elements at these positions to the end of the list, in their order.
std::vector<ValueId> moved_back(const std::vector<ValueId>& list, const std::vector<size_t>& positions) {
  const std::set<size_t> moving(positions.begin(), positions.end());
  std::vector<ValueId> out;
  for (size_t i = 0; i < list.size(); ++i)
    if (moving.count(i) == 0) out.push_back(list[i]);
  for (size_t p : positions) out.push_back(list[p]);
  return out;
}

/// Drops outputs that are the input of the same state.
void find_unwritten(Graph& graph) {
  std::set<size_t> dropped;
  for (State& state : graph.states) {
    if (!is_written(state) || graph.outputs[state.output] != graph.inputs[state.input]) continue;
    dropped.insert(state.output);
    state.output = kNotWritten;
  }
  std::vector<ValueId> other_outputs;
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    if (dropped.count(i) == 0) other_outputs.push_back(graph.outputs[i]);
  for (State& state : graph.states)
    if (is_written(state))
      state.output -= static_cast<size_t>(std::distance(dropped.begin(), dropped.lower_bound(state.output)));
  graph.outputs = std::move(other_outputs);
}

std::string state_type(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  return concat(name_of(value.dtype), str(*value.shape));
}

}  // namespace

void order_states(Graph& graph) {
  if (graph.states.empty()) return;
  check_apart(graph);
  find_unwritten(graph);
  std::vector<size_t> inputs, outputs;
  for (const State& state : graph.states) {
    inputs.push_back(state.input);
    if (!is_written(state)) continue;
    outputs.push_back(state.output);
    const ValueId value = graph.outputs[state.output];
    if (!is_shared(graph, value, state.output)) continue;
    const NodeId copy = graph.add_node(op("Identity"), state.name + ".next", {value}, 1);
    graph.outputs[state.output] = graph.node(copy).outputs[0];
  }
  graph.inputs = moved_back(graph.inputs, inputs);
  graph.outputs = moved_back(graph.outputs, outputs);
  size_t input = graph.inputs.size() - inputs.size(), output = graph.outputs.size() - outputs.size();
  for (State& state : graph.states) {
    state.input = input++;
    if (is_written(state)) state.output = output++;
  }
}

void check_states(const Graph& graph) {
  for (const State& state : graph.states) {
    if (state.scope == StateScope::session && state.initial == nullptr) continue;
    const Value& in = graph.value(graph.inputs[state.input]);
    const std::string type = state_type(graph, graph.inputs[state.input]);
    if (!is_static(*in.shape))
      fail("state '", state.name, "' is ", type, "; a ",
           state.initial ? "state with a first value" : "state of the program", " has constant extents");
    if (is_written(state)) {
      const Value& out = graph.value(graph.outputs[state.output]);
      if (out.dtype != in.dtype || *out.shape != *in.shape)
        fail("state '", state.name, "' is ", type, ", but its new value '", out.name, "' is ",
             state_type(graph, graph.outputs[state.output]));
    }
    if (state.initial && (state.initial->dtype() != in.dtype || to_shape(state.initial->shape()) != *in.shape))
      fail("state '", state.name, "' is ", type, ", but its first value is ", name_of(state.initial->dtype()),
           str(to_shape(state.initial->shape())));
  }
}

}  // namespace gcg
