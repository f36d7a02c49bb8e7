#include <algorithm>
#include <initializer_list>
#include <set>

#include "compiler/ops/ops.h"
#include "compiler/passes/packed_sequence.h"
#include "compiler/passes/sequences.h"

namespace gcg {
namespace {

constexpr int64_t kMostIterations = 1024;  // the most iterations of a loop that is unrolled
constexpr int64_t kMostCopies = 20'000;    // the most nodes that unrolling a loop may make

}  // namespace

bool Sequences::sequence_state(const Node& n) const {
  for (size_t i = 2; i + static_cast<size_t>(n.captures) < n.inputs.size(); ++i)
    if (parts(n.inputs[i]) != nullptr) return true;
  return false;
}

/// The number of iterations of a loop, if it is known and moderate.
std::optional<int64_t> Sequences::iterations(const Node& n) const {
  const Graph& body = *n.bodies[0];
  const auto holds = [](const Graph& g, ValueId v) { return known_number(g, v).value_or(0) != 0; };
  const bool goes_on = body.outputs[0] == body.inputs[1] || holds(body, body.outputs[0]);
  if (!n.inputs[0].valid() || !goes_on || (n.inputs[1].valid() && !holds(graph_, n.inputs[1]))) return std::nullopt;
  const auto count = known_number(graph_, n.inputs[0]);
  if (!count || *count > kMostIterations || *count * static_cast<int64_t>(body.order().size()) > kMostCopies)
    return std::nullopt;
  return std::max<int64_t>(*count, 0);
}

bool Sequences::unroll(NodeId id) {
  const Node& n = graph_.node(id);
  const auto count = iterations(n);
  if (!count) return false;
  const Graph body = n.bodies[0]->clone();
  const size_t carried = n.inputs.size() - 2 - static_cast<size_t>(n.captures);
  const std::vector<ValueId> inputs = n.inputs, outputs = n.outputs;
  if (*count == 0 && outputs.size() > carried) return false;
  std::vector<ValueId> state(inputs.begin() + 2, inputs.begin() + 2 + static_cast<std::ptrdiff_t>(carried));
  std::vector<std::vector<ValueId>> scanned(body.outputs.size() - 1 - carried);
  NodeBuilder b(graph_, n.name);
  for (int64_t k = 0; k < *count; ++k) {
    std::map<ValueId, ValueId> values = {{body.inputs[0], b.constant(Tensor::scalar_i64(k))},
                                         {body.inputs[1], b.constant(Tensor::from<uint8_t>(DType::boolean, {}, {1}))}};
    for (size_t i = 0; i < carried; ++i) values[body.inputs[2 + i]] = state[i];
    for (size_t i = 2 + carried; i < inputs.size(); ++i) values[body.inputs[i]] = inputs[i];
    copy_body(body, values);
    for (size_t i = 0; i < carried; ++i) state[i] = values.at(body.outputs[1 + i]);
    for (size_t i = 0; i < scanned.size(); ++i)
      scanned[i].push_back(b.unsqueeze(values.at(body.outputs[1 + carried + i]), 0));
  }
  graph_.erase_node(id);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].valid()) replace(outputs[i], i < carried ? state[i] : b.concat(scanned[i - carried], 0));
  changed = true;
  return true;
}

namespace {

/// The value that an iteration appends to carried sequence `input`; nullopt if it does anything else with the sequence.
std::optional<ValueId> appended_to(const Graph& body, size_t input) {
  const ValueId in = body.inputs[input], out = body.outputs[input - 1];
  if (!body.value(out).producer.valid() || body.is_output(in)) return std::nullopt;
  const Node& last = body.node(body.value(out).producer);
  const auto users = body.users();
  if (last.op != &op_SequenceInsert || last.inputs[0] != in || last.inputs.size() > 2 ||
      users[static_cast<size_t>(in.index)].size() != 1 || !users[static_cast<size_t>(out.index)].empty())
    return std::nullopt;
  return last.inputs[1];
}

/// True if the shape is the same in every iteration: all its symbols come from the loop's inputs.
bool spans_all_iterations(const Graph& graph, const Node& loop, const Shape& shape) {
  std::set<std::string> known;
  for (ValueId v : loop.inputs)
    if (v.valid())
      for (const Dim& d : graph.value(v).shape.value_or(Shape{})) known.merge(d.symbols());
  return std::all_of(shape.begin(), shape.end(), [&](const Dim& d) {
    const std::set<std::string> names = d.symbols();
    return std::includes(known.begin(), known.end(), names.begin(), names.end());
  });
}

template <class T>
void replace_at(std::vector<T>& list, size_t at, std::initializer_list<T> by) {
  const auto place = list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
  list.insert(place, by);
}

}  // namespace

void Sequences::carry(NodeId id) {
  if (loops_ == Loops::unroll) return;
  for (size_t i = 2; i + static_cast<size_t>(graph_.node(id).captures) < graph_.node(id).inputs.size();) {
    const Node& n = graph_.node(id);
    const Graph& body = *n.bodies[0];
    const SequenceParts* initial = parts(n.inputs[i]);
    const auto appended = initial != nullptr ? appended_to(body, i) : std::nullopt;
    const std::optional<Shape> shape = appended ? body.value(*appended).shape : std::nullopt;
    const bool waits = appended && !shape && loops_ == Loops::as_typed;
    if (initial == nullptr || waits) {
      ++i;
    } else if (appended && (!shape || spans_all_iterations(graph_, n, *shape))) {
      append_as_scan(id, i, *appended, *initial);
    } else {
      auto type = element_type(graph_, *initial);
      if (!type) type = type_of(body, body.outputs[i - 1]);
      if (type) carry_packed(id, i, *type);
      i += type ? 2 : 1;
    }
  }
}

/// Collects the appended elements in a scan output.
void Sequences::append_as_scan(NodeId id, size_t input, ValueId appended, SequenceParts sequence) {
  Node& n = graph_.node(id);
  Graph& body = *n.bodies[0];
  const ValueId joined = input - 2 < n.outputs.size() ? n.outputs[input - 2] : ValueId();
  const NodeId insert = body.value(body.outputs[input - 1]).producer;
  replace_at(n.inputs, input, {});
  replace_at(body.inputs, input, {});
  replace_at(body.outputs, input - 1, {});
  body.erase_node(insert);
  body.outputs.push_back(appended);
  if (input - 2 < n.outputs.size()) replace_at(n.outputs, input - 2, {});
  n.outputs.resize(body.outputs.size() - 1);
  n.outputs.back() = add_output(n.name + ".appended");
  number_outputs(graph_, id);
  sequence.parts.push_back({n.outputs.back(), SequencePart::Kind::stacked});
  if (joined.valid()) define(joined, std::move(sequence), n.name);
  changed = true;
}

/// Carries the sequence from iteration to iteration as the two tensors of a packed part.
void Sequences::carry_packed(NodeId id, size_t input, ElementType type) {
  const std::string name = graph_.node(id).name;
  const SequencePart first = pack_later(graph_, name, graph_.node(id).inputs[input], type);
  Node& n = graph_.node(id);
  Graph& body = *n.bodies[0];
  const auto enters = [&](const char* hint) {
    Value value;
    value.name = body.unique_name(hint);
    return body.add_value(std::move(value));
  };
  const SequencePart before{enters("numbers"), SequencePart::Kind::packed, enters("shapes"), type.rank};
  const SequencePart after = pack_later(body, name, body.outputs[input - 1], type);
  const SequencePart last{add_output(name + ".packed"), SequencePart::Kind::packed, add_output(name + ".packed_shapes"),
                          type.rank};
  const bool is_optional = parts(n.inputs[input])->is_optional;
  define(body, body.inputs[input], {{before}, is_optional}, name);
  replace_at(n.inputs, input, {first.value, first.table});
  replace_at(body.inputs, input, {before.value, before.table});
  replace_at(body.outputs, input - 1, {after.value, after.table});
  n.outputs.resize(std::max(n.outputs.size(), input - 1));
  const ValueId joined = n.outputs[input - 2];
  replace_at(n.outputs, input - 2, {last.value, last.table});
  number_outputs(graph_, id);
  if (joined.valid()) define(joined, {{last}, is_optional}, name);
  changed = true;
}

}  // namespace gcg
