// Tools that passes edit graphs with.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Edits one graph (the model's graph, or a subgraph). New nodes are typed at once. While a Rewriter exists, only
/// replace() may change the inputs of nodes. Others may add nodes to the graph and erase them.
class Rewriter {
 public:
  Rewriter(Graph& g, Graph& outermost_graph) : graph(g), outermost(outermost_graph) {}

  Graph& graph;
  Graph& outermost;

  const Value& value(ValueId v) const { return graph.value(v); }
  const Shape& shape(ValueId v) const { return *graph.value(v).shape; }
  bool has_shape(ValueId v) const { return v.valid() && graph.value(v).shape.has_value(); }
  /// The data of a constant; null for other values and for an omitted input.
  const Tensor* constant(ValueId v) const;
  /// The node that computes `v` if its operator is `op`; otherwise null.
  const Node* producer(ValueId v, const OpDef& op) const;
  /// The number of reads by nodes plus appearances among the graph's outputs; 2 means 2 or more.
  int64_t uses(ValueId v) const;
  bool is_read(ValueId v) const { return uses(v) != 0; }

  /// Adds a node and returns its first output.
  ValueId add(const OpDef& op, const std::string& name, std::vector<ValueId> inputs,
              std::map<std::string, Attribute> attributes = {});
  ValueId add_constant(const std::string& name, Tensor tensor) { return graph.add_constant(name, std::move(tensor)); }

  /// Makes all readers of `from` read `to`. Returns false and does nothing if `from` is a graph output and `to` is an
  /// input, a constant or another output. Outputs belong to the caller and have their own names.
  bool replace(ValueId from, ValueId to);
  /// Makes `v` a constant and detaches it from its producer.
  void make_constant(ValueId v, TensorRef data);
  /// Erases the node if nothing reads its outputs.
  void erase_if_dead(NodeId node);
  /// Must be called after any other change of the inputs of nodes.
  void forget_readers();

 private:
  bool can_replace(ValueId from, ValueId to) const;
  /// The nodes that read `v`, each at least once. Nodes that no longer read it may be among them.
  std::vector<NodeId>& readers(ValueId v) const;

  mutable std::vector<std::vector<NodeId>> readers_;  // by ValueId; covers the nodes with numbers below indexed_
  mutable int64_t indexed_ = 0;
};

/// Runs `edit` on the graph and all its subgraphs, innermost first. Returns true if any run of `edit` did.
bool edit_all(Graph& graph, const std::function<bool(Rewriter&)>& edit);

/// True for constant data with the same value in all elements.
bool is_all(const Tensor* tensor, double value);

}  // namespace gcg
