#include "compiler/passes/refine_shapes.h"

#include "compiler/ops/infer.h"

namespace gcg {
namespace {

using Shapes = std::vector<std::optional<Shape>>;

void collect(const Graph& graph, Shapes& out) {
  for (int64_t i = 0; i < graph.value_count(); ++i) out.push_back(graph.value(ValueId(i)).shape);
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies) collect(*body, out);
}

Shapes shapes_of(const Graph& graph) {
  Shapes out;
  collect(graph, out);
  return out;
}

}  // namespace

bool refine_shapes(Graph& graph) {
  const Shapes before = shapes_of(graph);
  graph.constraints.clear();
  infer_graph(graph);
  return shapes_of(graph) != before;
}

}  // namespace gcg
