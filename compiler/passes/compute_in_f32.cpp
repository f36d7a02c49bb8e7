#include "compiler/passes/compute_in_f32.h"

#include <algorithm>
#include <functional>
#include <map>

#include "compiler/ops/deferred_constants.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

void each_node(const Graph& graph, const std::function<void(const Graph&, const Node&)>& see) {
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    see(graph, node);
    for (const auto& body : node.bodies) each_node(*body, see);
  }
}

/// True for operators that become kernels of their own, directly or after expansion.
bool is_contraction(const Node& node) {
  return node.op->kind == OpKind::contraction || (node.op->kind == OpKind::opaque && node.bodies.empty());
}

bool reads_half(const Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId v) { return v.valid() && is_half(graph.value(v).dtype); });
}

bool looks_at_bits(const Graph& graph) {
  bool found = false;
  each_node(graph, [&](const Graph& g, const Node& node) {
    found = found || (node.op == &op_BitCast && reads_half(g, node));
  });
  return found;
}

int64_t onnx_number(DType dtype) { return dtype_to_onnx(dtype); }

/// Replaces 16-bit types in a node's attributes by f32, and converts the tensors that it holds.
void widen_attributes(Node& node) {
  for (const char* key : {"to", "dtype", "output_dtype"}) {
    const auto it = node.attributes.find(key);
    if (it == node.attributes.end() || !std::holds_alternative<int64_t>(it->second)) continue;
    const int64_t type = std::get<int64_t>(it->second);
    if (type == onnx_number(DType::f16) || type == onnx_number(DType::bf16)) it->second = onnx_number(DType::f32);
  }
  for (auto& [key, attribute] : node.attributes)
    if (const auto* tensor = std::get_if<TensorRef>(&attribute); tensor && *tensor && is_half((*tensor)->dtype()))
      attribute = std::make_shared<const Tensor>(widened(*tensor));
}

void widen_nodes(Graph& graph) {
  std::map<ValueId, ValueId> wide;  // constants
  const auto constant = [&](ValueId v) {
    const auto it = wide.find(v);
    if (it != wide.end()) return it->second;
    const std::string name = graph.unique_name(graph.value(v).name + ".f32");
    return wide[v] = graph.add_constant(name, widened(graph.value(v).constant));
  };
  const auto is_half_constant = [&](ValueId v) {
    return v.valid() && graph.value(v).is_constant() && is_half(graph.value(v).dtype);
  };
  for (NodeId id : graph.order()) {
    widen_attributes(graph.node(id));
    for (size_t i = 0; i < graph.node(id).inputs.size(); ++i)
      if (const ValueId v = graph.node(id).inputs[i]; is_half_constant(v)) {
        const ValueId w = constant(v);
        graph.node(id).inputs[i] = w;
      }
    for (const auto& body : graph.node(id).bodies) widen_nodes(*body);
  }
}

/// Makes the outputs of a subgraph f32, like everything inside it. Outputs that are constants are converted, too.
void widen_body_outputs(Graph& graph) {
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies) {
      for (ValueId& v : body->outputs)
        if (body->value(v).is_constant() && is_half(body->value(v).dtype))
          v = body->add_constant(body->unique_name(body->value(v).name + ".f32"), widened(body->value(v).constant));
      widen_body_outputs(*body);
    }
}

ValueId cast(Graph& graph, ValueId v, DType to) {
  const NodeId id = graph.add_node(op_Cast, graph.value(v).name, {v}, 1, {{"to", onnx_number(to)}});
  const ValueId out = graph.node(id).outputs[0];
  graph.value(out).dtype = to;
  graph.value(out).shape = graph.value(v).shape;
  return out;
}

void widen_inputs(Graph& graph) {
  for (const ValueId v : std::vector<ValueId>(graph.inputs)) {
    if (!is_half(graph.value(v).dtype)) continue;
    const std::vector<ValueId> outputs = graph.outputs;
    const ValueId wide = cast(graph, v, DType::f32);
    graph.replace_uses(v, wide);
    graph.node(graph.value(wide).producer).inputs = {v};
    graph.outputs = outputs;  // an input that is also an output stays unchanged
  }
}

/// The rounded values get the names of the outputs.
void round_outputs(Graph& graph) {
  std::map<ValueId, ValueId> rounded;
  for (ValueId& v : graph.outputs) {
    const DType dtype = graph.value(v).dtype;
    if (!is_half(dtype) || !graph.value(v).producer.valid()) continue;
    if (const auto it = rounded.find(v); it != rounded.end()) {
      v = it->second;
      continue;
    }
    const ValueId out = cast(graph, v, dtype);
    graph.value(out).name = graph.value(v).name;
    graph.value(v).name = graph.unique_name(graph.value(v).name + ".f32");
    rounded[v] = out;
    v = out;
  }
}

}  // namespace

DType half_contractions(const Graph& graph) {
  DType found = DType::undefined;
  each_node(graph, [&](const Graph& g, const Node& node) {
    if (found != DType::undefined || !is_contraction(node)) return;
    for (ValueId v : node.inputs)
      if (v.valid() && is_half(g.value(v).dtype)) found = g.value(v).dtype;
  });
  return found;
}

bool compute_in_f32(Graph& graph) {
  if (half_contractions(graph) == DType::undefined || looks_at_bits(graph)) return false;
  widen_nodes(graph);
  widen_body_outputs(graph);
  round_outputs(graph);  // outputs are rounded before inference makes their values f32
  widen_inputs(graph);
  for (NodeId id : graph.order())  // inference runs again from scratch
    for (ValueId v : graph.node(id).outputs)
      if (v.valid() && is_half(graph.value(v).dtype) && !graph.is_output(v)) graph.value(v).dtype = DType::undefined;
  infer_graph(graph);
  return true;
}

}  // namespace gcg
