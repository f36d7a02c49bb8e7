// Operators that are compositions of others, and the nodes that they expand into. expanded_ops.inc lists them; the pass
// expand_operators rewrites them.
#pragma once

#include "compiler/ops/node_builder.h"

namespace gcg {

/// A node that is being expanded. The ranks of its inputs are known; new values have no types yet.
class Expansion : public NodeBuilder {
 public:
  /// Writes into `graph`, where `inputs` are the node's inputs.
  Expansion(Graph& graph, const Node& node, std::vector<ValueId> inputs)
      : NodeBuilder(graph, node.name), node_(&node), inputs_(std::move(inputs)) {}

  ValueId reshape(ValueId x, const std::vector<int64_t>& shape) { return node("Reshape", {x, ints(shape)}); }
  ValueId cast(ValueId x, DType to) { return node("Cast", {x}, {{"to", static_cast<int64_t>(dtype_to_onnx(to))}}); }

  using NodeBuilder::constant;
  using NodeBuilder::node;
  const Node& node() const { return *node_; }
  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return node_->outputs.size(); }
  bool has_input(size_t i) const { return i < inputs_.size() && inputs_[i].valid(); }
  bool has_output(size_t i) const { return i < output_count() && node_->outputs[i].valid(); }
  /// Invalid if omitted.
  ValueId input(size_t i) const { return i < inputs_.size() ? inputs_[i] : ValueId(); }
  /// Fails if omitted.
  const Value& value(size_t i);
  const Shape& shape(size_t i) { return *value(i).shape; }
  int64_t rank(size_t i) { return static_cast<int64_t>(shape(i).size()); }
  DType dtype(size_t i) { return value(i).dtype; }
  /// Data that must be known at compile time; `what` names it in messages: "the weights".
  const Tensor& constant(size_t i, const char* what);
  /// Extent `axis` (negative ones count from the end) of input i, which must be a constant.
  int64_t extent(size_t i, int64_t axis);
  [[noreturn]] void fail(const std::string& message) const;

  /// The node's attributes with these names, under the same names.
  std::map<std::string, Attribute> attributes(std::initializer_list<const char*> names) const;

 private:
  const Node* node_;
  std::vector<ValueId> inputs_;
};

/// Expands the node. Returns one value per output; an invalid one for an output that it does not make.
using Expand = std::vector<ValueId> (*)(Expansion&);

struct ExpandedOp {
  OpDef def;
  Expand expand;
  /// A trait: each sample's result depends on all samples of the batch, through statistics that a run updates.
  bool has_batch_statistics = false;
};

/// Types the outputs of such a node by inferring its expansion.
void infer_expansion(InferContext& ctx);

constexpr ExpandedOp expanded(const char* name, const char* domain, int since, int min_inputs, int max_inputs,
                              DeclaredTypes types, Expand expand, int max_outputs = 1,
                              void (*infer)(InferContext&) = infer_expansion) {
  return {{.name = name,
           .domain = domain,
           .since = since,
           .min_inputs = min_inputs,
           .max_inputs = max_inputs,
           .max_outputs = max_outputs,
           .types = types,
           .kind = OpKind::opaque,
           .infer = infer},
          expand};
}

/// The same operator with result types that differ from its first input's type.
constexpr ExpandedOp giving(DeclaredTypes results, ExpandedOp op) {
  op.def.results = results;
  return op;
}

/// The same operator with the trait of batch statistics.
constexpr ExpandedOp with_batch_statistics(ExpandedOp op) {
  op.has_batch_statistics = true;
  return op;
}

/// True if the operator computes statistics of a batch (ExpandedOp::has_batch_statistics).
bool has_batch_statistics(const OpDef& op);

/// The expansion of an operator; null if it has none.
Expand expand_of(const OpDef& op);

#define GCG_OP(name) extern const OpDef op_##name;
#define GCG_EXPANDED_OP(name) extern const ExpandedOp op_##name;
#include "compiler/ops/expanded_ops.inc"
#undef GCG_EXPANDED_OP
#undef GCG_OP

}  // namespace gcg
