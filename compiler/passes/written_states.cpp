#include "compiler/passes/written_states.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "compiler/ir/states.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

std::optional<size_t> position(const Graph& graph, const std::vector<ValueId>& values, const std::string& name) {
  for (size_t i = 0; i < values.size(); ++i)
    if (graph.value(values[i]).name == name) return i;
  return std::nullopt;
}

bool has_state(const Graph& graph, const std::string& name) {
  return std::any_of(graph.states.begin(), graph.states.end(), [&](const State& s) { return s.name == name; });
}

/// A symbol, not used in the graph, for the rows that the state had before.
std::string fresh_symbol(const Graph& graph) {
  std::set<std::string> taken;
  for (const std::vector<ValueId>* values : {&graph.inputs, &graph.outputs})
    for (const ValueId v : *values)
      if (graph.value(v).shape)
        for (const Dim& d : *graph.value(v).shape) taken.merge(d.symbols());
  std::string name = "replaced";
  for (int k = 1; taken.count(name) != 0; ++k) name = concat("replaced_", k);
  return name;
}

/// The shape of the state's input in a graph that writes `written`: the same extents, but a symbol where the state
/// grows.
Shape input_shape(const Graph& reader, const State& state, const Shape& written, const std::string& symbol) {
  const Shape& before = *reader.value(reader.inputs[state.input]).shape;
  if (before.size() != written.size())
    fail("state '", state.name, "' is ", str(before), " in '", reader.name, "', but another entry point writes ",
         str(written));
  Shape out = written;
  if (!is_written(state)) return out;
  const Value& after = reader.value(reader.outputs[state.output]);
  for (size_t d = 0; d < out.size(); ++d)
    if (!before[d].is_constant() && (!after.shape || (*after.shape)[d] != before[d])) out[d] = Dim::symbol(symbol);
  return out;
}

void add(Graph& graph, size_t output, const Graph& reader, const State& state, const std::string& symbol) {
  const ValueId written = graph.outputs[output];
  const Value& value = graph.value(written);
  if (!value.shape) fail("state '", state.name, "': the rank of output '", value.name, "' is not known");
  if (value.dtype != reader.value(reader.inputs[state.input]).dtype)
    fail("state '", state.name, "': output '", value.name, "' of '", graph.name, "' has another element type");
  Value before;
  before.name = state.name;
  before.dtype = value.dtype;
  before.shape = input_shape(reader, state, *value.shape, symbol);
  graph.outputs.erase(graph.outputs.begin() + static_cast<int64_t>(output));
  for (State& other : graph.states)
    if (is_written(other)) --other.output;  // states are behind all other outputs
  State copy = state;
  copy.input = graph.inputs.size();
  copy.output = graph.outputs.size();
  graph.inputs.push_back(graph.add_value(std::move(before)));
  graph.outputs.push_back(written);
  graph.states.push_back(std::move(copy));
}

}  // namespace

void add_written_states(const std::vector<Graph*>& graphs, const std::map<std::string, std::string>& written) {
  for (Graph* graph : graphs) {
    const std::string symbol = fresh_symbol(*graph);
    for (const Graph* reader : graphs) {
      if (reader == graph) continue;
      for (const State& state : reader->states) {
        const auto other = written.find(state.name);
        if (!is_written(state) && other == written.end()) continue;
        const std::string& name = is_written(state) ? reader->value(reader->outputs[state.output]).name : other->second;
        const std::optional<size_t> output = position(*graph, graph->outputs, name);
        if (output && !has_state(*graph, state.name) && !position(*graph, graph->inputs, state.name))
          add(*graph, *output, *reader, state, symbol);
      }
    }
  }
}

}  // namespace gcg
