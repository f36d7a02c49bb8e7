#include <algorithm>

#include "compiler/ops/ops.h"
#include "compiler/passes/inline_body.h"
#include "compiler/passes/sequences.h"

namespace gcg {

const Parts* Sequences::mapped(const Node& n, size_t i) const {
  return i + static_cast<size_t>(n.captures) < n.inputs.size() ? parts(n.inputs[i]) : nullptr;
}

/// Are the sequences stored alike, part for part?
bool Sequences::are_alike(const Node& n) const {
  const Parts& first = *parts(n.inputs[0]);
  const auto count = first.length();
  for (size_t i = 1; i < n.inputs.size(); ++i) {
    const Parts* other = mapped(n, i);
    if (other == nullptr) continue;
    if (count && other->length() && *count != *other->length())
      fail("SequenceMap '", n.name, "': input ", i, " has ", *other->length(), " elements, input 0 has ", *count);
    if (!std::equal(
            first.parts.begin(), first.parts.end(), other->parts.begin(), other->parts.end(),
            [](const Part& a, const Part& b) { return a.stacked == b.stacked && a.sizes.valid() == b.sizes.valid(); }))
      return false;
  }
  return true;
}

void Sequences::map(NodeId id) {
  const Node& n = graph_.node(id);
  if (parts(n.inputs[0]) == nullptr) return reject(n, "the sequence it reads is not known at compile time");
  if (!are_alike(n)) return reject(n, "its sequences have lengths that are not known to be equal at compile time");
  const Parts first = *parts(n.inputs[0]);
  if (std::any_of(first.parts.begin(), first.parts.end(), [](const Part& p) { return p.sizes.valid(); }))
    return reject(n, "the elements of its sequence are of lengths that depend on data");
  std::vector<Parts> made(n.outputs.size());
  for (size_t p = 0; p < first.parts.size(); ++p) {
    const bool stacked = first.parts[p].stacked;
    const std::vector<ValueId> results = stacked ? map_stacked(graph_.node(id), p) : map_element(graph_.node(id), p);
    for (size_t o = 0; o < made.size(); ++o) made[o].parts.push_back({results[o], stacked, {}, 0});
  }
  const std::string name = graph_.node(id).name;
  const std::vector<ValueId> outputs = graph_.node(id).outputs;
  graph_.node(id).outputs.assign(outputs.size(), ValueId());
  graph_.erase_node(id);
  for (size_t o = 0; o < outputs.size(); ++o)
    if (outputs[o].valid()) define(outputs[o], std::move(made[o]), name);
  changed = true;
}

/// The body with one element of each sequence; gives its results.
std::vector<ValueId> Sequences::map_element(const Node& n, size_t part) {
  const Graph body = n.bodies[0]->clone();
  std::map<ValueId, ValueId> values;
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    const Parts* sequence = mapped(n, i);
    values[body.inputs[i]] = sequence != nullptr ? sequence->parts[part].value : n.inputs[i];
  }
  copy_body(body, values);
  std::vector<ValueId> results;
  for (ValueId v : body.outputs) results.push_back(values.at(v));
  return results;
}

/// A Loop over the elements that lie stacked, whose scan outputs are the results, stacked.
std::vector<ValueId> Sequences::map_stacked(const Node& n, size_t part) {
  auto turn = std::make_unique<Graph>(n.bodies[0]->clone());
  const std::string name = n.name;  // nodes that are added may move n
  NodeBuilder outside(graph_, name), inside(*turn, name);
  const auto enters = [&](const std::string& hint, DType dtype, std::optional<Shape> shape) {
    Value value;
    value.name = turn->unique_name(hint);
    value.dtype = dtype;
    value.shape = std::move(shape);
    return turn->add_value(std::move(value));
  };
  const ValueId at = enters("turn", DType::i64, Shape{}), go = enters("go", DType::boolean, Shape{});
  std::vector<ValueId> outer, inner = {at, go};
  for (size_t i = 0; i < turn->inputs.size(); ++i) {
    const Parts* sequence = mapped(n, i);
    outer.push_back(sequence != nullptr ? sequence->parts[part].value : n.inputs[i]);
    if (sequence == nullptr) {
      inner.push_back(turn->inputs[i]);
      continue;
    }
    const Value& stacked = graph_.value(outer.back());
    inner.push_back(enters(stacked.name, stacked.dtype, stacked.shape));
    const ValueId element = inside.node("Gather", {inner.back(), at}, {{"axis", int64_t{0}}});
    turn->replace_uses(turn->inputs[i], element);
  }
  std::vector<ValueId> results = {go};
  for (ValueId v : turn->outputs) results.push_back(inside.node("Identity", {v}));
  turn->inputs = std::move(inner);
  turn->outputs = std::move(results);

  const ValueId count = outside.element(outside.node("Shape", {outer[0]}), 0, 0);
  Node loop;
  loop.op = &op_Loop;
  loop.name = name;
  loop.inputs = {count, ValueId()};
  loop.inputs.insert(loop.inputs.end(), outer.begin(), outer.end());
  loop.captures = static_cast<int>(outer.size());
  for (size_t o = 1; o < turn->outputs.size(); ++o) {
    Value value;
    value.name = graph_.unique_name(name + ".mapped");
    loop.outputs.push_back(graph_.add_value(std::move(value)));
  }
  loop.bodies.push_back(std::move(turn));
  const std::vector<ValueId> made = loop.outputs;
  graph_.add_node(std::move(loop));
  return made;
}

void Sequences::copy_body(const Graph& body, std::map<ValueId, ValueId>& values) {
  copy_nodes(body, body.order(), graph_, values);
  for (ValueId v : body.outputs)
    if (values.count(v) == 0) values[v] = graph_.add_constant(body.value(v).name, *body.value(v).constant);
}

}  // namespace gcg
