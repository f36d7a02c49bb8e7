// Adds several nodes to a graph, written like expressions.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/op_def.h"

namespace gcg {

/// Adds nodes on behalf of the ONNX node `name`. Inference sets their types later.
class NodeBuilder {
 public:
  NodeBuilder(Graph& graph, std::string name) : graph_(graph), name_(std::move(name)) {}

  Graph& graph() { return graph_; }
  const std::string& name() const { return name_; }

  ValueId node(const char* op_name, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes = {}) {
    return node(op(op_name), std::move(inputs), std::move(attributes));
  }
  ValueId node(const OpDef& op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes = {}) {
    return outputs(op, std::move(inputs), 1, std::move(attributes))[0];
  }
  /// All outputs of a node with `count` of them.
  std::vector<ValueId> outputs(const OpDef& of, std::vector<ValueId> inputs, int count,
                               std::map<std::string, Attribute> attributes = {}) {
    return graph_.node(graph_.add_node(of, name_, std::move(inputs), count, std::move(attributes))).outputs;
  }
  ValueId constant(Tensor tensor) { return graph_.add_constant(name_ + ".constant", std::move(tensor)); }
  ValueId ints(const std::vector<int64_t>& values) { return constant(Tensor::vector_i64(values)); }
  ValueId scalar(DType dtype, double value) {
    Tensor t(dtype, {});
    t.set_double(0, value);
    return constant(std::move(t));
  }

  /// x[..., from:to:step, ...] along one axis.
  ValueId slice(ValueId x, int64_t axis, int64_t from, int64_t to, int64_t step = 1) {
    return node("Slice", {x, ints({from}), ints({to}), ints({axis}), ints({step})});
  }
  ValueId reversed(ValueId x, int64_t axis) { return slice(x, axis, -1, std::numeric_limits<int64_t>::min() + 1, -1); }
  /// x[..., index, ...] along one axis, which is removed.
  ValueId element(ValueId x, int64_t axis, int64_t index) {
    return node("Gather", {x, constant(Tensor::scalar_i64(index))}, {{"axis", axis}});
  }
  /// x's extent along one axis, an i64 scalar.
  ValueId extent_of(ValueId x, int64_t axis) { return element(node("Shape", {x}), 0, axis); }
  ValueId unsqueeze(ValueId x, int64_t axis) { return node("Unsqueeze", {x, ints({axis})}); }
  ValueId transpose(ValueId x, std::vector<int64_t> permutation) {
    return node("Transpose", {x}, {{"perm", std::move(permutation)}});
  }
  ValueId concat(std::vector<ValueId> parts, int64_t axis) {
    return parts.size() == 1 ? parts[0] : node("Concat", std::move(parts), {{"axis", axis}});
  }
  ValueId add(ValueId a, ValueId b) { return node("Add", {a, b}); }
  ValueId multiply(ValueId a, ValueId b) { return node("Mul", {a, b}); }
  ValueId subtract(ValueId a, ValueId b) { return node("Sub", {a, b}); }

  /// Replaces `old` by `by`. `by` gets the type of `old` at once, because its readers may be rewritten before types are
  /// inferred. A graph output must be a value of its own, so an input or another output is copied.
  void replace(ValueId old, ValueId by) {
    if (graph_.is_output(old) && (!graph_.value(by).producer.valid() || graph_.is_output(by)))
      by = node("Identity", {by});
    graph_.value(by).dtype = graph_.value(old).dtype;
    graph_.value(by).shape = graph_.value(old).shape;
    graph_.replace_uses(old, by);
  }

 private:
  Graph& graph_;
  std::string name_;
};

}  // namespace gcg
