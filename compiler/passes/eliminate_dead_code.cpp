#include "compiler/passes/eliminate_dead_code.h"

#include <algorithm>

#include "compiler/ops/ops.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

/// The values that a live node or a graph output reads.
std::vector<bool> read_values(const Graph& graph, std::vector<bool>& live_nodes) {
  std::vector<bool> read(static_cast<size_t>(graph.value_count()), false);
  live_nodes.assign(static_cast<size_t>(graph.node_count()), false);
  std::vector<ValueId> work = graph.outputs;
  while (!work.empty()) {
    const ValueId v = work.back();
    work.pop_back();
    if (!v.valid() || read[static_cast<size_t>(v.index)]) continue;
    read[static_cast<size_t>(v.index)] = true;
    const NodeId n = graph.value(v).producer;
    if (!n.valid() || live_nodes[static_cast<size_t>(n.index)]) continue;
    live_nodes[static_cast<size_t>(n.index)] = true;
    work.insert(work.end(), graph.node(n).inputs.begin(), graph.node(n).inputs.end());
  }
  return read;
}

/// Number of leading outputs that the next iteration reads. They must stay.
size_t carried_outputs(const Node& node) {
  if (node.op == &op_If) return 0;
  const size_t own = node.inputs.size() - static_cast<size_t>(node.captures);
  if (node.op == &op_Loop) return own < 2 ? 0 : own - 2;
  return own - static_cast<size_t>(node.int_attribute("num_scan_inputs", 0));
}

void erase_from_list_attribute(Node& node, const std::string& key, size_t index) {
  const auto it = node.attributes.find(key);
  if (it == node.attributes.end()) return;
  auto& list = std::get<std::vector<int64_t>>(it->second);
  if (index < list.size()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
}

/// Removes output `i` of a control-flow node from the node and from its subgraphs.
void erase_output(Graph& graph, Node& node, size_t i) {
  const size_t first_scan = carried_outputs(node);
  if (node.op == &op_Scan) {
    erase_from_list_attribute(node, "scan_output_axes", i - first_scan);
    erase_from_list_attribute(node, "scan_output_directions", i - first_scan);
  }
  const size_t in_body = node.op == &op_Loop ? i + 1 : i;  // the first output of a Loop's subgraph is its condition
  for (auto& body : node.bodies) body->outputs.erase(body->outputs.begin() + static_cast<std::ptrdiff_t>(in_body));
  if (node.outputs[i].valid()) graph.value(node.outputs[i]).producer = NodeId();
  node.outputs.erase(node.outputs.begin() + static_cast<std::ptrdiff_t>(i));
  for (size_t k = i; k < node.outputs.size(); ++k)
    if (node.outputs[k].valid()) graph.value(node.outputs[k]).output_index = static_cast<int>(k);
}

bool trim_control_outputs(Graph& graph, Node& node, const std::vector<bool>& read) {
  bool changed = false;
  for (size_t i = node.outputs.size(); i-- > carried_outputs(node);) {
    if (node.outputs[i].valid() && read[static_cast<size_t>(node.outputs[i].index)]) continue;
    erase_output(graph, node, i);
    changed = true;
  }
  return changed;
}

bool trim_outputs(Graph& graph, Node& node, const std::vector<bool>& read) {
  bool changed = false;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId v = node.outputs[i];
    if (!v.valid() || read[static_cast<size_t>(v.index)] || static_cast<int>(i) < node.op->min_outputs) continue;
    graph.value(v).producer = NodeId();
    node.outputs[i] = ValueId();
    changed = true;
  }
  if (node.op == &op_Split) return changed;  // a Split has as many outputs as pieces, so none is removed
  const auto least = static_cast<size_t>(std::max(node.op->min_outputs, 0));
  while (node.outputs.size() > least && !node.outputs.back().valid()) node.outputs.pop_back();
  return changed;
}

bool trim_captures(Node& node) {
  bool changed = false;
  for (int c = node.captures - 1; c >= 0; --c) {
    const auto from_end = static_cast<std::ptrdiff_t>(node.captures - c);
    const bool unread = std::none_of(node.bodies.begin(), node.bodies.end(), [&](const auto& body) {
      return Rewriter(*body, *body).is_read(*(body->inputs.end() - from_end));
    });
    if (!unread) continue;
    for (auto& body : node.bodies) body->inputs.erase(body->inputs.end() - from_end);
    node.inputs.erase(node.inputs.end() - from_end);
    --node.captures;
    changed = true;
  }
  return changed;
}

bool sweep(Graph& graph) {
  std::vector<bool> live;
  const std::vector<bool> read = read_values(graph, live);
  bool changed = false;
  for (int64_t i = 0; i < graph.node_count(); ++i) {
    Node& node = graph.node(NodeId(i));
    if (node.erased) continue;
    if (!live[static_cast<size_t>(i)]) {
      graph.erase_node(NodeId(i));
      changed = true;
      continue;
    }
    changed |= node.bodies.empty() ? trim_outputs(graph, node, read) : trim_control_outputs(graph, node, read);
    for (auto& body : node.bodies) changed |= sweep(*body);
    changed |= trim_captures(node);
  }
  return changed;
}

/// Frees constants that nothing reads and from which no other constant was made. The data of others stays: reports find
/// the model's name of a weight by it.
void free_unread_constants(Graph& graph) {
  std::vector<bool> live;
  const std::vector<bool> read = read_values(graph, live);
  for (int64_t i = 0; i < graph.value_count(); ++i) {
    Value& v = graph.value(ValueId(i));
    if (!read[static_cast<size_t>(i)] && v.constant.use_count() == 1) v.constant.reset();
  }
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies) free_unread_constants(*body);
}

}  // namespace

bool eliminate_dead_code(Graph& graph) {
  bool changed = false;
  // Another sweep, because a removed capture may have been the last reader of a value outside.
  while (sweep(graph)) changed = true;
  free_unread_constants(graph);
  return changed;
}

}  // namespace gcg
