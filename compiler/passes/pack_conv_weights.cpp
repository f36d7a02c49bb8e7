#include "compiler/passes/pack_conv_weights.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

/// True if each group has one input channel: sums run over taps only.
bool is_depthwise(const Node& conv, const Shape& weights) {
  return conv.int_attribute("group", 1) > 1 && weights[1].is(1);
}

/// The order for depthwise convolutions, whose sums are loops: weights of neighbouring channels are neighbours.
std::vector<int64_t> channels_last_of_all(size_t rank) {
  std::vector<int64_t> perm;
  for (size_t d = 1; d < rank; ++d) perm.push_back(static_cast<int64_t>(d));
  perm.push_back(0);
  return perm;
}

bool is_packed(const Graph& graph, const Node& node) {
  if (node.op != &op("Conv")) return false;
  const Value& weights = graph.value(node.inputs[1]);
  return weights.dtype == DType::f32 && weights.shape && is_static(*weights.shape) && weights.shape->size() >= 3 &&
         weights.shape->size() <= 5 &&
         (is_depthwise(node, *weights.shape) ? weights.is_constant() : has_finite_weights(weights));
}

/// Channels last.
std::vector<int64_t> permutation(size_t rank) {
  std::vector<int64_t> perm = {0};
  for (size_t d = 2; d < rank; ++d) perm.push_back(static_cast<int64_t>(d));
  perm.push_back(1);
  return perm;
}

bool pack(Graph& graph, Graph& outermost) {
  std::map<ValueId, ValueId> packed;  // weights that several nodes share are transposed once
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (const auto& body : graph.node(id).bodies) changed |= pack(*body, outermost);
    if (!is_packed(graph, graph.node(id))) continue;
    const ValueId w = graph.node(id).inputs[1];
    const size_t rank = graph.value(w).shape->size();
    const bool depthwise = is_depthwise(graph.node(id), *graph.value(w).shape);
    if (packed.count(w) == 0) {
      const NodeId transpose = graph.add_node(op("Transpose"), graph.value(w).name, {w}, 1,
                                              {{"perm", depthwise ? channels_last_of_all(rank) : permutation(rank)}});
      infer_node(graph, transpose, outermost);
      packed[w] = graph.node(transpose).outputs[0];
    }
    Node& node = graph.node(id);
    node.op = &op("PlainConv", "gart");
    node.inputs[1] = packed[w];
    node.attributes.erase("kernel_shape");
    if (depthwise) node.attributes["depthwise"] = int64_t{1};
    changed = true;
  }
  return changed;
}

}  // namespace

bool has_finite_weights(const Value& weights) {
  if (!weights.is_constant()) return true;
  const std::span<const float> all = weights.constant->as<float>();
  return std::all_of(all.begin(), all.end(), [](float w) { return std::isfinite(w); });
}

bool pack_conv_weights(Graph& graph) { return pack(graph, graph); }

}  // namespace gcg
