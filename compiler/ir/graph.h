// The graph: typed values, nodes that compute them, and subgraphs for If, Loop and Scan.
//
// Nodes are ONNX operators in their newest form (the importer upgrades older opset versions) plus a few internal ones
// whose names begin with "gart." (packing, blocked layouts). Values are in SSA form: each has one producer, or is a
// graph input or a constant. Node and value ids are stable; erased nodes leave a hole.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/dim.h"
#include "compiler/ir/dtype.h"
#include "compiler/ir/tensor.h"
#include "compiler/support/ids.h"

namespace gcg {

class Graph;
struct OpDef;  // compiler/ops/op_def.h

using Attribute = std::variant<int64_t, double, std::string, TensorRef, std::vector<int64_t>, std::vector<double>,
                               std::vector<std::string>>;

/// op(source) with these attributes: an operator that moves elements or, as a Cast, rounds them.
struct Rearrangement {
  const OpDef* op;
  std::map<std::string, Attribute> attributes;
  TensorRef source;
};

struct Value {
  std::string name;  // the ONNX name; unique within its graph
  DType dtype = DType::undefined;
  std::optional<Shape> shape;  // nullopt: rank not known (yet)
  NodeId producer;             // none for graph inputs and constants
  int output_index = 0;        // which output of the producer
  TensorRef constant;          // data of a constant value
  /// The type that its elements are rounded to in memory; undefined: its own type (compiler/passes/narrow_storage.h).
  DType stored = DType::undefined;
  /// True if [N, C, spatial...] is stored in memory as [N, spatial..., C] (compiler/passes/channels_last.h).
  bool channels_last = false;
  /// The elements (row-major) of a small integer or boolean tensor, as expressions over the symbols, if inference knows
  /// them.
  std::optional<std::vector<Dim>> contents;

  bool is_constant() const { return constant != nullptr; }
  /// The type of its elements in memory.
  DType memory_dtype() const { return stored == DType::undefined ? storage_dtype(dtype) : stored; }
  /// Its extents, or any other list with one entry per dimension, in memory order, outermost first.
  template <class PerDimension>
  std::vector<PerDimension> in_memory(std::vector<PerDimension> of) const {
    if (channels_last) std::rotate(of.begin() + 1, of.begin() + 2, of.end());
    return of;
  }
  Shape memory_shape() const { return in_memory(*shape); }
};

struct Node {
  const OpDef* op = nullptr;
  std::string name;              // ONNX node name, for messages; a fused or rewritten node keeps its root's name
  std::vector<ValueId> inputs;   // an omitted optional input is an invalid id
  std::vector<ValueId> outputs;  // an omitted optional output is an invalid id
  std::map<std::string, Attribute> attributes;
  /// If: then, else. Loop, Scan: body. A subgraph sees outer values only through its inputs. The node's last `captures`
  /// inputs are passed, in order, as the last inputs of *every* subgraph.
  std::vector<std::unique_ptr<Graph>> bodies;
  int captures = 0;
  bool erased = false;

  bool has_attribute(const std::string& key) const { return attributes.count(key) != 0; }
  int64_t int_attribute(const std::string& key, int64_t otherwise) const;
  double float_attribute(const std::string& key, double otherwise) const;
  std::string string_attribute(const std::string& key, const std::string& otherwise) const;
  std::vector<int64_t> ints_attribute(const std::string& key, const std::vector<int64_t>& otherwise = {}) const;
  std::vector<double> floats_attribute(const std::string& key, const std::vector<double>& otherwise = {}) const;
  std::vector<std::string> strings_attribute(const std::string& key,
                                             const std::vector<std::string>& otherwise = {}) const;
  TensorRef tensor_attribute(const std::string& key) const;  // null when absent
};

/// A fact that the model assumes: at run time `a` must equal `b`. The runtime checks the facts of the outermost graph
/// before the first step, and a subgraph's facts each time before it runs.
struct DimConstraint {
  Dim a, b;
  std::string reason;  // "Add 'node': dimension 1 of its inputs"
};

/// The owner of a state's memory: one session (a cache), or the program, for all of its callers (a trained weight).
enum class StateScope : uint8_t { session, program };

/// A value that lasts from one run to the next, such as a cache or a trained weight. The graph has an ordinary input
/// and an ordinary output for it, so passes need not treat it specially. Its owner supplies the memory of both, and the
/// output becomes the input of the next run (XLA's input-output aliasing).
struct State {
  std::string name;
  size_t input = 0, output = 0;  // positions in Graph::inputs and Graph::outputs, after those of the caller
  int axis = -1;                 // the axis of the model's tensor along which each run appends; -1: the extents stay
  int64_t capacity = 0;          // limit of the extent of `axis`; 0: none
  /// True if the output is the input with rows appended along axis 0, and a run only writes these rows (gart.Append):
  /// input and output are the same memory.
  bool in_place = false;
  StateScope scope = StateScope::session;
  TensorRef initial = nullptr;  // the value before the first run; null: zeros
};

class Graph {
 public:
  std::string name;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<State> states;  // the outermost graph only
  std::vector<DimConstraint> constraints;

  Graph() = default;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;
  /// A deep copy of the graph. Subgraphs are copied; constant tensors are shared.
  Graph clone() const;

  ValueId add_value(Value value);
  ValueId add_constant(std::string name, Tensor tensor);
  /// Adds the node at the end of the order and makes it the producer of its outputs.
  NodeId add_node(Node node);
  /// Adds a node with `outputs` fresh values. Inference fills in their types (compiler/ops/infer.h).
  NodeId add_node(const OpDef& op, std::string name, std::vector<ValueId> inputs, int outputs,
                  std::map<std::string, Attribute> attributes = {});
  /// Removes the node. Requires: its outputs have no users.
  void erase_node(NodeId id);
  /// Replaces every use of `from` (node inputs, graph outputs) by `to`.
  void replace_uses(ValueId from, ValueId to);
  /// "base", or "base.1", "base.2", ... if it is taken.
  std::string unique_name(const std::string& base);

  Value& value(ValueId id) { return values_[static_cast<size_t>(id.index)]; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id.index)]; }
  Node& node(NodeId id) { return nodes_[static_cast<size_t>(id.index)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id.index)]; }
  int64_t value_count() const { return static_cast<int64_t>(values_.size()); }
  int64_t node_count() const { return static_cast<int64_t>(nodes_.size()); }  // including erased ones

  /// Live nodes in a topological order that keeps the insertion order as far as possible.
  std::vector<NodeId> order() const;
  /// For each value the nodes that read it (once per use), in no particular order; indexed by ValueId.
  std::vector<std::vector<NodeId>> users() const;
  bool is_output(ValueId id) const;

 private:
  std::deque<Value> values_;  // deques: references stay valid while the graph grows
  std::deque<Node> nodes_;
  std::map<std::string, int64_t> names_;
};

}  // namespace gcg
