#include "compiler/passes/stack_unknown_rows.h"

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/ops/node_builder.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/take_sequences_apart.h"

namespace gcg {
namespace {

bool has_unknown_rows(const Graph& graph, const Node& n, size_t o) {
  if (!n.outputs[o].valid()) return false;
  const auto& shape = graph.value(n.outputs[o]).shape;
  if (!shape) return true;
  const std::vector<std::string> node_symbols = n.strings_attribute(kSymbolsAttribute);
  return std::any_of(shape->begin() + 1, shape->end(), [&](const Dim& d) {
    const auto name = d.symbol_name();
    return name && std::find(node_symbols.begin(), node_symbols.end(), *name) != node_symbols.end();
  });
}

ValueId add(Graph& graph, const std::string& name) {
  Value v;
  v.name = graph.unique_name(name);
  return graph.add_value(std::move(v));
}

/// Makes output `o`, which follows the carried values, the last carried value.
void stack(Graph& graph, NodeId id, size_t o, size_t carried) {
  const std::string name = graph.node(id).name;
  const ValueId rows = graph.node(id).outputs[o];
  const auto place = static_cast<std::ptrdiff_t>(carried);
  Graph& body = *graph.node(id).bodies[0];
  const ValueId row = body.outputs[1 + o], so_far = add(body, "rows");
  body.inputs.insert(body.inputs.begin() + 2 + place, so_far);
  body.outputs.erase(body.outputs.begin() + 1 + static_cast<std::ptrdiff_t>(o));
  body.outputs.insert(body.outputs.begin() + 1 + place, NodeBuilder(body, name).node("SequenceInsert", {so_far, row}));

  NodeBuilder b(graph, name);
  const ValueId none = b.node("SequenceEmpty", {}, {{"dtype", int64_t{dtype_to_onnx(graph.value(rows).dtype)}}});
  const ValueId all = add(graph, name + ".rows");
  graph.value(rows).producer = NodeId();
  graph.replace_uses(rows, b.node("ConcatFromSequence", {all}, {{"axis", int64_t{0}}, {"new_axis", int64_t{1}}}));
  Node& n = graph.node(id);
  n.inputs.insert(n.inputs.begin() + 2 + place, none);
  n.outputs.erase(n.outputs.begin() + static_cast<std::ptrdiff_t>(o));
  n.outputs.insert(n.outputs.begin() + place, all);
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    if (!n.outputs[i].valid()) continue;
    graph.value(n.outputs[i]).producer = id;
    graph.value(n.outputs[i]).output_index = static_cast<int>(i);
  }
}

bool stack_all(Graph& graph) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i) changed |= stack_all(*graph.node(id).bodies[i]);
    if (graph.node(id).op != &op_Loop) continue;
    const auto carried = [&] {
      return graph.node(id).bodies[0]->inputs.size() - 2 - static_cast<size_t>(graph.node(id).captures);
    };
    for (size_t o = carried(); o < graph.node(id).outputs.size(); ++o) {
      if (!has_unknown_rows(graph, graph.node(id), o)) continue;
      stack(graph, id, o, carried());  // earlier outputs move by one position and are already handled
      changed = true;
    }
  }
  return changed;
}

}  // namespace

bool stack_unknown_rows(Graph& graph) { return stack_all(graph) && take_sequences_apart(graph); }

}  // namespace gcg
