#include <algorithm>

#include "compiler/ops/ops.h"
#include "compiler/passes/inline_body.h"
#include "compiler/passes/sequences.h"

namespace gcg {

const SequenceParts* Sequences::mapped(const Node& n, size_t i) const {
  return i + static_cast<size_t>(n.captures) < n.inputs.size() ? parts(n.inputs[i]) : nullptr;
}

/// The number of elements of the sequences, if it is known for all of them.
std::optional<size_t> Sequences::known_length(const Node& n) const {
  const auto length = parts(n.inputs[0])->length();
  if (!length) return std::nullopt;
  for (size_t i = 1; i < n.inputs.size(); ++i) {
    const SequenceParts* other = mapped(n, i);
    if (other == nullptr) continue;
    if (!other->length()) return std::nullopt;
    if (*length != *other->length())
      fail("SequenceMap '", n.name, "': input ", i, " has ", *other->length(), " elements, input 0 has ", *length);
  }
  return static_cast<size_t>(*length);
}

void Sequences::map(NodeId id) {
  const Node& n = graph_.node(id);
  if (parts(n.inputs[0]) == nullptr) return reject(n, "the sequence that it reads is not known at compile time");
  const auto length = known_length(n);
  if (!length) return map_in_loop(id);
  std::vector<SequenceParts> sequences(n.outputs.size());
  for (size_t p = 0; p < *length; ++p) {
    const std::vector<ValueId> results = map_element(graph_.node(id), p);
    for (size_t o = 0; o < sequences.size(); ++o) sequences[o].parts.push_back({results[o]});
  }
  const std::string name = graph_.node(id).name;
  const std::vector<ValueId> outputs = graph_.node(id).outputs;
  graph_.node(id).outputs.assign(outputs.size(), ValueId());
  graph_.erase_node(id);
  for (size_t o = 0; o < outputs.size(); ++o)
    if (outputs[o].valid()) define(outputs[o], std::move(sequences[o]), name);
  changed = true;
}

/// Copies the subgraph for one element of each sequence; returns its results.
std::vector<ValueId> Sequences::map_element(const Node& n, size_t part) {
  const Graph body = n.bodies[0]->clone();
  std::map<ValueId, ValueId> values;
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    const SequenceParts* sequence = mapped(n, i);
    values[body.inputs[i]] = sequence != nullptr ? sequence->parts[part].value : n.inputs[i];
  }
  copy_body(body, values);
  std::vector<ValueId> results;
  for (ValueId v : body.outputs) results.push_back(values.at(v));
  return results;
}

/// Makes a Loop whose iterations read an element of each sequence and append the results.
void Sequences::map_in_loop(NodeId id) {
  const Node map = {graph_.node(id).op, graph_.node(id).name, graph_.node(id).inputs, graph_.node(id).outputs, {}, {}};
  auto iteration = std::make_unique<Graph>(graph_.node(id).bodies[0]->clone());
  NodeBuilder outside(graph_, map.name), inside(*iteration, map.name);
  const auto enters = [&](const char* name, DType dtype) {
    Value value;
    value.name = iteration->unique_name(name);
    value.dtype = dtype;
    return iteration->add_value(std::move(value));
  };
  const ValueId at = enters("turn", DType::i64), go = enters("go", DType::boolean);
  Node loop;
  loop.op = &op_Loop;
  loop.name = map.name;
  loop.inputs = {outside.node("SequenceLength", {map.inputs[0]}), ValueId()};
  std::vector<ValueId> inputs = {at, go}, results = {go};
  for (size_t i = 0; i < iteration->inputs.size(); ++i) {
    if (mapped(graph_.node(id), i) == nullptr) continue;
    const ValueId sequence = enters("sequence", DType::undefined), element = iteration->inputs[i];
    iteration->replace_uses(element, inside.node("SequenceAt", {sequence, at}));
    iteration->inputs[i] = sequence;
  }
  for (ValueId result : iteration->outputs) {
    loop.inputs.push_back(outside.node("SequenceEmpty", {}));
    inputs.push_back(enters("so_far", DType::undefined));
    results.push_back(inside.node("SequenceInsert", {inputs.back(), result}));
  }
  loop.inputs.insert(loop.inputs.end(), map.inputs.begin(), map.inputs.end());
  loop.captures = static_cast<int>(map.inputs.size());
  inputs.insert(inputs.end(), iteration->inputs.begin(), iteration->inputs.end());
  iteration->inputs = std::move(inputs);
  iteration->outputs = std::move(results);
  loop.outputs = map.outputs;
  loop.bodies.push_back(std::move(iteration));
  graph_.node(id).outputs.assign(map.outputs.size(), ValueId());
  graph_.erase_node(id);
  for (ValueId v : map.outputs)
    if (v.valid()) graph_.value(v).producer = NodeId();
  number_outputs(graph_, graph_.add_node(std::move(loop)));
  changed = true;
}

void Sequences::copy_body(const Graph& body, std::map<ValueId, ValueId>& values) {
  copy_nodes(body, body.order(), graph_, values);
  for (ValueId v : body.outputs)
    if (values.count(v) == 0) values[v] = graph_.add_constant(body.value(v).name, *body.value(v).constant);
}

}  // namespace gcg
