#include "compiler/passes/appends_as_rows.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ops/data_extent.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/forget_symbols.h"

namespace gcg {
namespace {

int64_t uses(const Graph& graph, ValueId v) {
  int64_t count = std::count(graph.outputs.begin(), graph.outputs.end(), v);
  for (NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    count += std::count(n.inputs.begin(), n.inputs.end(), v);
  }
  return count;
}

/// Symbols in the extents of values that the loop captures. Other symbols may have a different value in each iteration.
std::set<std::string> symbols_outside(const Graph& graph, const Node& n) {
  std::set<std::string> names;
  for (size_t i = n.inputs.size() - static_cast<size_t>(n.captures); i < n.inputs.size(); ++i)
    if (const Value& v = graph.value(n.inputs[i]); v.shape)
      for (const Dim& d : *v.shape) names.merge(d.symbols());
  return names;
}

struct Append {
  NodeId concat;  // in the subgraph
  int64_t axis = 0;
  Shape part;
};

/// The append to carried value `k`, if the loop only appends to it. The appended part has the same extent along the
/// axis in every iteration; its other extents are those of the value.
std::optional<Append> append_of(const Graph& graph, const Node& n, size_t k) {
  const Graph& body = *n.bodies[0];
  const ValueId before = body.inputs[2 + k], after = body.outputs[1 + k];
  const NodeId id = body.value(after).producer;
  if (!id.valid() || body.node(id).op != &op_Concat || uses(body, before) != 1 || uses(body, after) != 1)
    return std::nullopt;
  const Node& concat = body.node(id);
  if (concat.inputs.size() != 2 || concat.inputs[0] != before) return std::nullopt;
  const Value& part = body.value(concat.inputs[1]);
  if (!part.shape) return std::nullopt;
  const std::set<std::string> outside = symbols_outside(graph, n);
  for (const Dim& d : *part.shape) {
    const std::set<std::string> names = d.symbols();
    if (!std::includes(outside.begin(), outside.end(), names.begin(), names.end())) return std::nullopt;
  }
  Append append{id, concat.int_attribute("axis", 0), *part.shape};
  if (append.axis < 0) append.axis += static_cast<int64_t>(part.shape->size());
  const auto axis = static_cast<size_t>(append.axis);
  const bool reshapes =
      std::all_of(part.shape->begin() + append.axis, part.shape->end(), [](const Dim& d) { return d.is_constant(); });
  return (*part.shape)[axis].is(1) || reshapes ? std::optional(append) : std::nullopt;
}

/// Joins rows [T, part...] into one tensor, with the T rows side by side along the axis.
ValueId side_by_side(NodeBuilder& b, ValueId rows, const Append& append) {
  std::vector<int64_t> permutation(append.part.size() + 1);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::rotate(permutation.begin(), permutation.begin() + 1, permutation.begin() + 1 + append.axis);
  if (append.axis > 0) rows = b.transpose(rows, permutation);
  if (append.part[static_cast<size_t>(append.axis)].is(1)) return b.node("Squeeze", {rows, b.ints({append.axis + 1})});
  std::vector<int64_t> extents(static_cast<size_t>(append.axis), 0);  // 0: unchanged
  extents.push_back(-1);
  for (size_t d = static_cast<size_t>(append.axis) + 1; d < append.part.size(); ++d)
    extents.push_back(append.part[d].constant());
  return b.node("Reshape", {rows, b.ints(extents)});
}

void make_rows(Graph& graph, NodeId id, size_t k, const Append& append) {
  const std::string name = graph.node(id).name;
  const auto at = [](auto& list, size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
  Value rows_value;
  rows_value.name = graph.unique_name("rows");
  const ValueId rows = graph.add_value(std::move(rows_value));
  Node& n = graph.node(id);
  Graph& body = *n.bodies[0];
  const ValueId initial = n.inputs[2 + k], result = n.outputs[k];
  for (const ValueId gone : {body.inputs[2 + k], body.outputs[1 + k]}) body.value(gone).shape = Shape{};
  n.inputs.erase(at(n.inputs, 2 + k));
  body.inputs.erase(at(body.inputs, 2 + k));
  body.outputs.erase(at(body.outputs, 1 + k));
  body.outputs.push_back(body.node(append.concat).inputs[1]);
  body.erase_node(append.concat);
  n.outputs.erase(at(n.outputs, k));
  n.outputs.resize(body.outputs.size() - 2);
  n.outputs.push_back(rows);
  graph.value(rows).producer = id;
  graph.value(result).producer = NodeId();
  for (size_t i = 0; i < n.outputs.size(); ++i)
    if (n.outputs[i].valid()) graph.value(n.outputs[i]).output_index = static_cast<int>(i);
  NodeBuilder b(graph, name);
  Node concat;
  concat.op = &op_Concat;
  concat.name = name;
  concat.attributes["axis"] = append.axis;
  concat.inputs = {initial, side_by_side(b, rows, append)};
  concat.outputs = {result};
  graph.add_node(std::move(concat));
}

/// `named`: the symbols that inference made for the loops.
bool rewrite(Graph& graph, std::set<std::string>& named) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i) changed |= rewrite(*graph.node(id).bodies[i], named);
    if (graph.node(id).op != &op_Loop) continue;
    for (size_t k = graph.node(id).inputs.size() - 2 - static_cast<size_t>(graph.node(id).captures); k-- > 0;) {
      const Node& n = graph.node(id);
      if (k >= n.outputs.size() || !n.outputs[k].valid()) continue;
      const auto append = append_of(graph, n, k);
      if (!append) continue;
      for (const std::string& symbol : n.strings_attribute(kSymbolsAttribute)) named.insert(symbol);
      make_rows(graph, id, k, *append);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

bool appends_as_rows(Graph& graph) {
  std::set<std::string> named;
  const bool changed = rewrite(graph, named);
  if (changed) {
    forget_symbols(graph, named);
    infer_graph(graph);
  }
  return changed;
}

}  // namespace gcg
