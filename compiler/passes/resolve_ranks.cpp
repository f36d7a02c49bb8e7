#include "compiler/passes/resolve_ranks.h"

#include <algorithm>
#include <set>

#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/passes/failing_body.h"
#include "compiler/passes/inline_body.h"
#include "compiler/support/unsupported.h"

namespace gcg {
namespace {

/// Moving the rest of a graph into both branches doubles it; a chain of n such Ifs makes 2^n copies.
constexpr int64_t kMostCopies = 200'000;

bool is_if(const Node& node) { return node.op != nullptr && node.op == &op("If"); }

std::optional<bool> known_condition(const Graph& graph, const Node& node) {
  const Value& condition = graph.value(node.inputs[0]);
  if (condition.constant) return condition.constant->at_int(0) != 0;
  if (!condition.contents || condition.contents->empty() || !condition.contents->front().is_constant()) return {};
  return condition.contents->front().constant() != 0;
}

bool unknown_rank(const Graph& graph, const Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return id.valid() && !graph.value(id).shape; });
}

bool reads_unknown(const Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) { return id.valid() && !graph.value(id).shape; });
}

class Resolver {
 public:
  explicit Resolver(Graph& outermost) : outermost_(outermost) {}

  /// Resolves `graph`, whose inputs are typed. Throws NodeError if it is ill-typed.
  bool resolve(Graph& graph) {
    bool changed = false;
    for (bool again = true; again; changed |= again)
      again = inline_known(graph) || resolve_bodies(graph, true) || move_rest(graph) || resolve_bodies(graph, false);
    return changed;
  }

 private:
  /// Inlines the Ifs with known conditions; true if there was one.
  bool inline_known(Graph& graph) {
    bool changed = false;
    for (NodeId id : graph.order()) {
      if (!is_if(graph.node(id))) continue;
      const auto condition = known_condition(graph, graph.node(id));
      if (!condition) continue;
      inline_body(graph, id, *condition ? 0 : 1);
      changed = true;
    }
    if (changed) reinfer(graph);
    return changed;
  }

  /// Resolves the subgraphs; true if one changed. `typed`: only the subgraphs of nodes whose inputs have ranks. Other
  /// nodes get ranks from the nodes before them.
  bool resolve_bodies(Graph& graph, bool typed) {
    bool changed = false;
    for (NodeId id : graph.order()) {
      if (typed && reads_unknown(graph, graph.node(id))) continue;
      for (size_t i = 0; i < graph.node(id).bodies.size(); ++i) changed |= resolve(*graph.node(id).bodies[i]);
    }
    if (changed) reinfer(graph);
    return changed;
  }

  /// Moves all nodes that depend on the first If of unknown rank into its branches; true if there were any.
  bool move_rest(Graph& graph) {
    for (NodeId id : graph.order()) {
      if (!is_if(graph.node(id)) || !unknown_rank(graph, graph.node(id))) continue;
      const std::vector<NodeId> dependent_nodes = dependants(graph, id);
      if (dependent_nodes.empty()) continue;
      type_branches(graph, move_into(graph, id, dependent_nodes));
      reinfer(graph);
      return true;
    }
    return false;
  }

  static std::vector<NodeId> dependants(const Graph& graph, NodeId root) {
    std::set<ValueId> tainted(graph.node(root).outputs.begin(), graph.node(root).outputs.end());
    tainted.erase(ValueId());
    std::vector<NodeId> found;
    for (NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      if (std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return tainted.count(v) != 0; }))
        continue;
      found.push_back(id);
      for (ValueId output : node.outputs)
        if (output.valid()) tainted.insert(output);
    }
    return found;
  }

  /// The values that nodes of `dependent_nodes` read, except constants and values that `root` or `dependent_nodes`
  /// make.
  static std::vector<ValueId> read_from_outside(const Graph& graph, NodeId root,
                                                const std::vector<NodeId>& dependent_nodes) {
    std::set<NodeId> inside(dependent_nodes.begin(), dependent_nodes.end());
    inside.insert(root);
    std::vector<ValueId> found;
    for (NodeId id : dependent_nodes)
      for (ValueId v : graph.node(id).inputs)
        if (v.valid() && !graph.value(v).is_constant() && inside.count(graph.value(v).producer) == 0 &&
            std::find(found.begin(), found.end(), v) == found.end())
          found.push_back(v);
    return found;
  }

  NodeId move_into(Graph& graph, NodeId id, const std::vector<NodeId>& dependent_nodes) {
    copies_ += 2 * static_cast<int64_t>(dependent_nodes.size());
    if (copies_ > kMostCopies)
      throw NodeError({graph.node(id).name, "If", "", 0, "too many ranks of the model depend on data"});
    const std::vector<ValueId> outside = read_from_outside(graph, id, dependent_nodes);
    const std::vector<ValueId> outputs = outputs_of(graph, id, dependent_nodes);
    Node& node = graph.node(id);
    for (auto& body : node.bodies) extend_body(graph, node, *body, outside, dependent_nodes, outputs);
    Node moved;
    moved.op = node.op;
    moved.name = node.name;
    moved.inputs = node.inputs;
    moved.inputs.insert(moved.inputs.end(), outside.begin(), outside.end());
    moved.captures = node.captures + static_cast<int>(outside.size());
    moved.bodies = std::move(node.bodies);
    moved.outputs = outputs;
    for (auto last = dependent_nodes.rbegin(); last != dependent_nodes.rend(); ++last) graph.erase_node(*last);
    graph.erase_node(id);
    for (ValueId output : outputs) graph.value(output).shape.reset();
    return graph.add_node(std::move(moved));
  }

  /// The outputs of the graph that `root` or `dependent_nodes` make, each once.
  static std::vector<ValueId> outputs_of(const Graph& graph, NodeId root, const std::vector<NodeId>& dependent_nodes) {
    std::set<NodeId> inside(dependent_nodes.begin(), dependent_nodes.end());
    inside.insert(root);
    std::vector<ValueId> found;
    for (ValueId v : graph.outputs)
      if (inside.count(graph.value(v).producer) != 0 && std::find(found.begin(), found.end(), v) == found.end())
        found.push_back(v);
    return found;
  }

  static void extend_body(const Graph& graph, const Node& node, Graph& body, const std::vector<ValueId>& outside,
                          const std::vector<NodeId>& dependent_nodes, const std::vector<ValueId>& outputs) {
    std::map<ValueId, ValueId> values;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i].valid()) values[node.outputs[i]] = body.outputs[i];
    for (ValueId v : outside) {
      Value input;
      input.name = graph.value(v).name;
      input.dtype = graph.value(v).dtype;
      body.inputs.push_back(values[v] = body.add_value(std::move(input)));
    }
    copy_nodes(graph, dependent_nodes, body, values);
    body.outputs.clear();
    for (ValueId v : outputs) body.outputs.push_back(values.at(v));
  }

  /// Infers and resolves both branches. An ill-typed branch becomes gart.Fail.
  void type_branches(Graph& graph, NodeId id) {
    std::optional<UnsupportedNode> errors[2];
    for (size_t i = 0; i < 2; ++i) {
      try {
        type_branch(graph, id, *graph.node(id).bodies[i]);
      } catch (const NodeError& error) {
        errors[i] = error.node();
      }
    }
    if (errors[0] && errors[1]) throw NodeError(*errors[0]);
    for (size_t i = 0; i < 2; ++i)
      if (errors[i]) {
        const Node& node = graph.node(id);
        *node.bodies[i] = failing_body(*node.bodies[i], *node.bodies[1 - i], node.name, *errors[i]);
      }
  }

  void type_branch(Graph& graph, NodeId id, Graph& body) {
    const Node& node = graph.node(id);
    std::vector<Value> types;
    for (size_t i = node.inputs.size() - static_cast<size_t>(node.captures); i < node.inputs.size(); ++i)
      types.push_back(graph.value(node.inputs[i]));
    infer_body(body, types, outermost_);
    resolve(body);
  }

  void reinfer(Graph& graph) {
    if (&graph == &outermost_) return infer_graph(graph);
    std::vector<Value> types;
    for (ValueId input : graph.inputs) types.push_back(graph.value(input));
    infer_body(graph, types, outermost_);
  }

  Graph& outermost_;
  int64_t copies_ = 0;
};

void collect_unknown(const Graph& graph, std::vector<UnsupportedNode>& rows) {
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const auto known = [&](ValueId v) {
      return !v.valid() || (graph.value(v).shape && graph.value(v).dtype != DType::undefined);
    };
    // Otherwise an earlier error makes the rank unknown.
    if (std::all_of(node.inputs.begin(), node.inputs.end(), known))
      for (ValueId v : node.outputs)
        if (!known(v)) {
          rows.push_back({node.name, node.op->name, node.op->domain, 0,
                          concat("the rank of its output '", graph.value(v).name, "' depends on data")});
          break;
        }
    for (const auto& body : node.bodies) collect_unknown(*body, rows);
  }
}

}  // namespace

bool resolve_ranks(Graph& graph) {
  bool changed = false;
  std::vector<UnsupportedNode> rows;
  try {
    changed = Resolver(graph).resolve(graph);
    collect_unknown(graph, rows);
  } catch (const NodeError& error) {
    rows.push_back(error.node());
  }
  if (!rows.empty()) throw UnsupportedModel(std::move(rows));
  return changed;
}

}  // namespace gcg
