#include "compiler/train/training_mode.h"

#include <algorithm>
#include <functional>

#include "compiler/ops/expansion.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

void each_node(Graph& graph, const std::function<void(Graph&, Node&)>& act) {
  for (NodeId id : graph.order()) {
    Node& node = graph.node(id);
    act(graph, node);
    for (const auto& body : node.bodies) each_node(*body, act);
  }
}

bool is_zero(const Graph& graph, ValueId v) {
  if (!v.valid()) return false;
  const TensorRef& constant = graph.value(v).constant;
  return constant && constant->elements() == 1 && constant->at_double(0) == 0;
}

/// Gives the node its own copy of a constant ratio, because a ratio is not a parameter even if it is an initializer.
void keep_ratio(Graph& graph, Node& node) {
  if (node.inputs.size() < 2 || !node.inputs[1].valid()) return;
  if (const TensorRef ratio = graph.value(node.inputs[1]).constant)
    node.inputs[1] = graph.add_constant(node.name + ".ratio", Tensor(*ratio));
}

}  // namespace

std::vector<std::string> start_dropout(Graph& graph) {
  std::vector<std::string> names;
  each_node(graph, [&](Graph& owner, Node& node) {
    if (node.op != &op_Dropout && node.op != &op_gart_TrainingDropout.def) return;
    node.inputs.resize(std::min<size_t>(node.inputs.size(), 2));
    const bool keeps_all = node.inputs.size() > 1 && is_zero(owner, node.inputs[1]);
    node.op = keeps_all ? &op_Dropout : &op_gart_TrainingDropout.def;
    if (keeps_all) return;
    keep_ratio(owner, node);
    names.push_back(node.name);
  });
  return names;
}

void stop_dropout(Graph& graph) {
  each_node(graph, [](Graph&, Node& node) {
    if (node.op != &op_gart_TrainingDropout.def) return;
    node.op = &op_Dropout;
    node.inputs.resize(std::min<size_t>(node.inputs.size(), 2));
  });
}

void use_running_statistics(Graph& graph, const std::set<ValueId>& statistics) {
  const auto users = graph.users();
  for (NodeId id : graph.order()) {
    Node& node = graph.node(id);
    if (node.op != &op_gart_TrainingBatchNormalization.def) continue;
    const bool has_statistics = statistics.count(node.inputs[3]) != 0 && statistics.count(node.inputs[4]) != 0;
    const bool gives_statistics = std::any_of(node.outputs.begin() + 1, node.outputs.end(), [&](ValueId out) {
      return out.valid() && (graph.is_output(out) || !users[static_cast<size_t>(out.index)].empty());
    });
    if (!has_statistics || gives_statistics) continue;
    node.op = &op_BatchNormalization;
    node.outputs.resize(1);
  }
}

const std::string* batch_statistics_of(const Graph& graph) {
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (has_batch_statistics(*node.op)) return &node.name;
    for (const auto& body : node.bodies)
      if (const std::string* found = batch_statistics_of(*body)) return found;
  }
  return nullptr;
}

}  // namespace gcg
