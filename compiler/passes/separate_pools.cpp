#include "compiler/passes/separate_pools.h"

#include <optional>

#include "compiler/ops/infer.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/sliding_window.h"

namespace gcg {
namespace {

using Ints = std::vector<int64_t>;

/// True if the windows of spatial dimension `d` should be pooled before the later dimensions. For each
/// element that the windows of later dimensions read, an output then costs as many accesses as this window is long, and
/// two accesses of the intermediate value.
bool pays(const Window& window, size_t d) {
  int64_t rest = 1, between = 1;
  for (size_t other = d + 1; other < window.size(); ++other) {
    rest *= window[other].kernel.constant();
    between *= window[other].stride;
  }
  const int64_t side = window[d].kernel.constant();
  return 4 * side * rest > 5 * ((side + 2) * between + rest);
}

/// The outermost dimension with a window, if it should be pooled separately.
std::optional<size_t> separable_dimension(const Graph& graph, const Node& n) {
  if (n.op != &op_MaxPool && n.op != &op_AveragePool) return std::nullopt;
  if (n.outputs.size() > 1 && n.outputs[1].valid())
    return std::nullopt;  // output 1 numbers elements over all dimensions
  const Window window = pool_window_of(n, *graph.value(n.inputs[0]).shape, to_shape(n.ints_attribute("kernel_shape")));
  size_t d = 0;
  while (d < window.size() && window[d].kernel.is(1)) ++d;
  if (d == window.size() || !always_holds_an_element(window) || !pays(window, d)) return std::nullopt;
  return d;
}

/// The node's attributes for the windows of spatial dimension `d` only (`same_axis`), or for those of all other
/// dimensions.
std::map<std::string, Attribute> part_of(const Node& n, size_t d, bool same_axis) {
  const size_t rank = n.ints_attribute("kernel_shape").size();
  std::map<std::string, Attribute> attributes = n.attributes;
  const auto keep = [&](const char* name, size_t lists, int64_t neutral) {
    if (!n.has_attribute(name)) return;
    Ints values = n.ints_attribute(name);
    for (size_t i = 0; i < rank * lists; ++i)
      if ((i % rank == d) != same_axis) values[i] = neutral;
    attributes[name] = values;
  };
  keep("kernel_shape", 1, 1);
  keep("strides", 1, 1);
  keep("dilations", 1, 1);
  keep("pads", 2, 0);
  return attributes;
}

void separate(Graph& graph, NodeId id, size_t d) {
  const Node& n = graph.node(id);
  const OpDef& op = *n.op;
  const auto same_axis = part_of(n, d, true), others = part_of(n, d, false);
  const ValueId x = n.inputs[0], y = n.outputs[0];
  NodeBuilder b(graph, n.name);
  b.replace(y, b.node(op, {b.node(op, {x}, same_axis)}, others));
  graph.erase_node(id);
}

bool separate_all(Graph& graph) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i) changed |= separate_all(*graph.node(id).bodies[i]);
    const auto d = separable_dimension(graph, graph.node(id));
    if (!d) continue;
    separate(graph, id, *d);
    changed = true;
  }
  return changed;
}

}  // namespace

bool separate_pools(Graph& graph) {
  bool changed = false;
  while (separate_all(graph)) {
    infer_graph(graph);
    changed = true;
  }
  return changed;
}

}  // namespace gcg
