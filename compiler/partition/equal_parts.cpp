#include "compiler/partition/equal_parts.h"

#include <cstring>

#include "compiler/gir/gir.h"

namespace gcg {
namespace {

/// Replaces names by numbers, in the order of nodes. Removes the reasons of facts, which name nodes.
void forget_names(Graph& graph) {
  graph.name = "";
  for (int64_t v = 0; v < graph.value_count(); ++v) graph.value(ValueId(v)).name.clear();
  int64_t next = 0;
  const auto number = [&](ValueId v) {
    if (v.valid() && graph.value(v).name.empty()) graph.value(v).name = std::to_string(next++);
  };
  for (ValueId v : graph.inputs) number(v);
  for (NodeId id : graph.order()) {
    Node& node = graph.node(id);
    for (ValueId v : node.inputs) number(v);
    for (ValueId v : node.outputs) number(v);
    node.name.clear();
    for (const auto& body : node.bodies) forget_names(*body);
  }
  for (ValueId v : graph.outputs) number(v);
  for (DimConstraint& fact : graph.constraints) fact.reason.clear();
}

/// Collects constants in the order of the nodes that use them.
void collect_constants(const Graph& graph, std::vector<TensorRef>& constants) {
  const auto see = [&](ValueId v) {
    if (v.valid() && graph.value(v).is_constant()) constants.push_back(graph.value(v).constant);
  };
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (ValueId v : node.inputs) see(v);
    for (const auto& [key, attribute] : node.attributes)
      if (const TensorRef* data = std::get_if<TensorRef>(&attribute)) constants.push_back(*data);
    for (const auto& body : node.bodies) collect_constants(*body, constants);
  }
  for (ValueId v : graph.outputs) see(v);
}

bool same_constants(const Graph& a, const Graph& b) {
  std::vector<TensorRef> of_a, of_b;
  collect_constants(a, of_a);
  collect_constants(b, of_b);
  if (of_a.size() != of_b.size()) return false;
  for (size_t i = 0; i < of_a.size(); ++i)
    if (of_a[i] != of_b[i] && (of_a[i]->bytes() != of_b[i]->bytes() ||
                               std::memcmp(of_a[i]->data(), of_b[i]->data(), static_cast<size_t>(of_a[i]->bytes()))))
      return false;
  return true;
}

std::string key_of(const Part& part) {
  Graph nameless = part.graph.clone();
  forget_names(nameless);
  std::string key = print_graph(nameless, GirData::elided);
  for (const std::string& symbol : part.extents) key += " " + symbol;
  return key;
}

}  // namespace

int EqualParts::find_or_add(std::vector<Part>& parts, Part part) {
  std::vector<int>& candidates = known_[key_of(part)];
  for (int i : candidates)
    if (same_constants(parts[static_cast<size_t>(i)].graph, part.graph)) return i;
  candidates.push_back(static_cast<int>(parts.size()));
  parts.push_back(std::move(part));
  return candidates.back();
}

}  // namespace gcg
