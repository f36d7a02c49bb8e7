#include <algorithm>

#include "compiler/ops/ops.h"
#include "compiler/passes/sequences.h"

namespace gcg {
namespace {

constexpr int64_t kMostIterations = 1024;  // of a loop that is unrolled
constexpr int64_t kMostCopies = 20'000;    // of nodes, then

}  // namespace

bool Sequences::sequence_state(const Node& n) const {
  for (size_t i = 2; i + static_cast<size_t>(n.captures) < n.inputs.size(); ++i)
    if (parts(n.inputs[i]) != nullptr) return true;
  return false;
}

/// How often a loop runs, if that is a known, moderate number.
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

/// Sequences that an iteration only appends to become scan outputs.
void Sequences::append_as_scan(NodeId id) {
  for (size_t i = 2; i + static_cast<size_t>(graph_.node(id).captures) < graph_.node(id).inputs.size();) {
    const Parts* initial = parts(graph_.node(id).inputs[i]);
    if (initial == nullptr || !append_as_scan(id, i, *initial)) ++i;
  }
}

bool Sequences::append_as_scan(NodeId id, size_t input, Parts sequence) {
  Node& n = graph_.node(id);
  Graph& body = *n.bodies[0];
  const ValueId in = body.inputs[input], out = body.outputs[input - 1];
  if (!body.value(out).producer.valid() || body.is_output(in)) return false;
  const NodeId insert = body.value(out).producer;
  const Node& last = body.node(insert);
  const auto users = body.users();
  if (last.op != &op_SequenceInsert || last.inputs[0] != in || last.inputs.size() > 2 ||
      users[static_cast<size_t>(in.index)].size() != 1 || !users[static_cast<size_t>(out.index)].empty())
    return false;
  const ValueId appended = last.inputs[1], whole = input - 2 < n.outputs.size() ? n.outputs[input - 2] : ValueId();
  n.inputs.erase(n.inputs.begin() + static_cast<std::ptrdiff_t>(input));
  body.inputs.erase(body.inputs.begin() + static_cast<std::ptrdiff_t>(input));
  body.outputs.erase(body.outputs.begin() + static_cast<std::ptrdiff_t>(input) - 1);
  body.erase_node(insert);
  body.outputs.push_back(appended);
  if (input - 2 < n.outputs.size()) n.outputs.erase(n.outputs.begin() + static_cast<std::ptrdiff_t>(input) - 2);
  n.outputs.resize(body.outputs.size() - 1);
  Value stacked;
  stacked.name = graph_.unique_name(n.name + ".appended");
  stacked.producer = id;
  stacked.output_index = static_cast<int>(n.outputs.size()) - 1;
  n.outputs.back() = graph_.add_value(std::move(stacked));
  for (size_t o = 0; o < n.outputs.size(); ++o)
    if (n.outputs[o].valid()) graph_.value(n.outputs[o]).output_index = static_cast<int>(o);
  sequence.parts.push_back({n.outputs.back(), true, {}, 0});
  if (whole.valid()) define(whole, std::move(sequence), n.name);
  changed = true;
  return true;
}

}  // namespace gcg
