#include "compiler/passes/separate_resize.h"

#include "compiler/ops/infer.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/resize_params.h"

namespace gcg {
namespace {

enum : size_t { kX, kScales = 2, kSizes = 3 };

ValueId given(const Graph& graph, const Node& n, size_t i) {
  if (i >= n.inputs.size() || !n.inputs[i].valid() || product(*graph.value(n.inputs[i]).shape).is(0)) return ValueId();
  return n.inputs[i];
}

/// The dimensions that change; empty if the node stays unchanged.
std::vector<ResizedDim> separable(const Graph& graph, const Node& n) {
  if (n.op != &op_Resize || n.string_attribute("keep_aspect_ratio_policy", "stretch") != "stretch") return {};
  const ValueId scales = given(graph, n, kScales), sizes = given(graph, n, kSizes);
  const auto value = [&](ValueId v) { return v.valid() ? &graph.value(v) : nullptr; };
  const ResizeParams form = resize_params(n, *graph.value(n.inputs[kX]).shape, &*graph.value(n.outputs[0]).shape,
                                          value(scales), value(sizes));
  std::vector<ResizedDim> dims;
  for (const ResizedDim& d : form.dims)
    if (form.antialias && (!d.ratio || !(d.ratio->up == d.ratio->down))) dims.push_back(d);
  return dims.size() > 1 ? dims : std::vector<ResizedDim>();
}

/// Element `at` of a list, as a list.
ValueId element(NodeBuilder& b, ValueId list, int64_t at) {
  if (!list.valid()) return list;
  const TensorRef known = b.graph().value(list).constant;
  if (!known) return b.slice(list, 0, at, at + 1);
  Tensor one(known->dtype(), {1});
  if (is_float(one.dtype()))
    one.set_double(0, known->at_double(at));
  else
    one.set_int(0, known->at_int(at));
  return b.constant(std::move(one));
}

void separate(Graph& graph, NodeId id, const std::vector<ResizedDim>& dims) {
  const Node& n = graph.node(id);
  NodeBuilder b(graph, n.name);
  const ValueId scales = given(graph, n, kScales), sizes = given(graph, n, kSizes), y = n.outputs[0];
  std::map<std::string, Attribute> attributes = n.attributes;
  attributes.erase(kSymbolsAttribute);
  ValueId x = n.inputs[kX];
  for (const ResizedDim& d : dims) {
    attributes["axes"] = std::vector<int64_t>{static_cast<int64_t>(d.dim)};
    const auto at = static_cast<int64_t>(d.position);
    std::vector<ValueId> inputs = {x, ValueId(), element(b, scales, at)};
    if (sizes.valid()) inputs.push_back(element(b, sizes, at));
    x = b.node("Resize", inputs, attributes);
  }
  b.replace(y, x);
  graph.erase_node(id);
}

bool separate_all(Graph& graph) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i) changed |= separate_all(*graph.node(id).bodies[i]);
    const std::vector<ResizedDim> dims = separable(graph, graph.node(id));
    if (dims.empty()) continue;
    separate(graph, id, dims);
    changed = true;
  }
  return changed;
}

}  // namespace

bool separate_resize(Graph& graph) {
  const bool changed = separate_all(graph);
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
