#include "compiler/passes/grow_scan_outputs.h"

#include <algorithm>
#include <set>
#include <string>

#include "compiler/ops/data_extent.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

bool is_own_symbol(const Node& n, const Dim& d) {
  const std::vector<std::string> own = n.strings_attribute(kSymbolsAttribute);
  const auto name = d.symbol_name();
  return name && std::find(own.begin(), own.end(), *name) != own.end();
}

/// Has output `o` as many rows as nobody knows, all of the same, known extents?
bool grows(const Graph& graph, const Node& n, size_t o) {
  if (!n.outputs[o].valid()) return false;
  const Shape& shape = *graph.value(n.outputs[o]).shape;
  return is_own_symbol(n, shape[0]) &&
         std::none_of(shape.begin() + 1, shape.end(), [&](const Dim& d) { return is_own_symbol(n, d); });
}

/// Zeros without rows.
ValueId nothing(Graph& graph, const std::string& name, DType dtype, const Shape& row) {
  NodeBuilder b(graph, name);
  std::vector<ValueId> extents = {b.ints({0})};
  for (const Dim& d : row) {
    Node n = dim_value_node(name, d);
    Value v;
    v.name = graph.unique_name(name + ".extent");
    n.outputs = {graph.add_value(std::move(v))};
    extents.push_back(n.outputs[0]);
    graph.add_node(std::move(n));
    extents.back() = b.unsqueeze(extents.back(), 0);
  }
  return b.node("ConstantOfShape", {b.concat(extents, 0)}, {{"value", std::make_shared<const Tensor>(Tensor(dtype, {1}))}});
}

/// Makes scan output `o` the last carried value.
void carry(Graph& graph, NodeId id, size_t o) {
  const std::string name = graph.node(id).name;
  const Value& type = graph.value(graph.node(id).outputs[o]);
  const ValueId begin = nothing(graph, name, type.dtype, {type.shape->begin() + 1, type.shape->end()});
  Node& n = graph.node(id);
  Graph& body = *n.bodies[0];
  const size_t carried = body.inputs.size() - 2 - static_cast<size_t>(n.captures);
  const auto at = [](auto& list, size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
  Value so_far;
  so_far.name = body.unique_name("so_far");
  const ValueId before = body.add_value(std::move(so_far));
  n.inputs.insert(at(n.inputs, 2 + carried), begin);
  body.inputs.insert(at(body.inputs, 2 + carried), before);
  NodeBuilder inside(body, name);
  const ValueId row = body.outputs[1 + o];
  body.outputs.erase(at(body.outputs, 1 + o));
  body.outputs.insert(at(body.outputs, 1 + carried), inside.concat({before, inside.unsqueeze(row, 0)}, 0));
  std::rotate(at(n.outputs, carried), at(n.outputs, o), at(n.outputs, o + 1));
  for (size_t i = 0; i < n.outputs.size(); ++i)
    if (n.outputs[i].valid()) graph.value(n.outputs[i]).output_index = static_cast<int>(i);
}

/// Facts about a number of rows that has no meaning any more; its symbol may come to name something else.
void forget(Graph& graph, const std::set<std::string>& symbols) {
  const auto names_one = [&](const Dim& d) {
    const std::set<std::string> named = d.symbols();
    return std::any_of(named.begin(), named.end(), [&](const std::string& s) { return symbols.count(s) != 0; });
  };
  std::erase_if(graph.constraints, [&](const DimConstraint& fact) { return names_one(fact.a) || names_one(fact.b); });
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies) forget(*body, symbols);
}

/// `replaced`: the symbols that were the numbers of rows.
bool grow_all(Graph& graph, std::set<std::string>& replaced) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i) changed |= grow_all(*graph.node(id).bodies[i], replaced);
    if (graph.node(id).op != &op_Loop) continue;
    const Node& n = graph.node(id);
    const size_t carried = n.bodies[0]->inputs.size() - 2 - static_cast<size_t>(n.captures);
    std::vector<bool> chosen;
    for (size_t o = carried; o < n.outputs.size(); ++o) chosen.push_back(grows(graph, n, o));
    for (size_t k = 0; k < chosen.size(); ++k) {
      if (!chosen[k]) continue;
      replaced.insert(*(*graph.value(graph.node(id).outputs[carried + k]).shape)[0].symbol_name());
      carry(graph, id, carried + k);  // those before it have moved, but not passed it
      changed = true;
    }
  }
  return changed;
}

}  // namespace

bool grow_scan_outputs(Graph& graph) {
  std::set<std::string> replaced;
  const bool changed = grow_all(graph, replaced);
  if (changed) {
    forget(graph, replaced);
    infer_graph(graph);
  }
  return changed;
}

}  // namespace gcg
