// What passes edit graphs with.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Edits one graph (the model's, or a body inside it). New nodes are typed at once. While it lives, inputs of nodes
/// change through replace() alone; nodes may be added to the graph and erased from it by others, too.
class Rewriter {
 public:
  Rewriter(Graph& g, Graph& outermost_graph) : graph(g), outermost(outermost_graph) {}

  Graph& graph;
  Graph& outermost;

  const Value& value(ValueId v) const { return graph.value(v); }
  const Shape& shape(ValueId v) const { return *graph.value(v).shape; }
  bool has_shape(ValueId v) const { return v.valid() && graph.value(v).shape.has_value(); }
  /// Data of a constant; null for other values and for an omitted input.
  const Tensor* constant(ValueId v) const;
  /// The node that computes `v`, if it is an `op`; else null.
  const Node* producer(ValueId v, const OpDef& op) const;
  /// Reads by nodes plus appearances among the graph's outputs; 2 where they are more.
  int64_t uses(ValueId v) const;
  bool is_read(ValueId v) const { return uses(v) != 0; }

  /// The first output of a new node.
  ValueId add(const OpDef& op, const std::string& name, std::vector<ValueId> inputs,
              std::map<std::string, Attribute> attributes = {});
  ValueId add_constant(const std::string& name, Tensor tensor) { return graph.add_constant(name, std::move(tensor)); }

  /// Makes all readers of `from` read `to`. False, and nothing is done, if `from` is a graph output that would come to
  /// share its value with an input, a constant or another output: outputs are the caller's and have names of their own.
  bool replace(ValueId from, ValueId to);
  /// Makes `v` a constant and takes it from its producer.
  void make_constant(ValueId v, TensorRef data);
  /// Erases the node if nothing reads its outputs.
  void erase_if_dead(NodeId node);
  /// To be called where inputs of nodes changed in another way.
  void forget_readers();

 private:
  bool can_replace(ValueId from, ValueId to) const;
  /// The nodes that read `v`, and some that no longer do; each once or more.
  std::vector<NodeId>& readers(ValueId v) const;

  mutable std::vector<std::vector<NodeId>> readers_;  // by ValueId, of the nodes below indexed_
  mutable int64_t indexed_ = 0;
};

/// Runs `edit` on the graph and on all bodies in it, innermost first; true if one of the runs says so.
bool edit_all(Graph& graph, const std::function<bool(Rewriter&)>& edit);

/// Constant data with one value in all elements.
bool is_all(const Tensor* tensor, double value);

}  // namespace gcg
