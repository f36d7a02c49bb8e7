#include "compiler/passes/expand_flex_attention.h"

#include <cmath>
#include <map>

#include "compiler/ops/flex_attention.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/expand_each.h"
#include "compiler/passes/inline_body.h"

namespace gcg {
namespace {

class FlexAttentionWriter {
 public:
  FlexAttentionWriter(Graph& graph, NodeId id)
      : graph_(graph),
        id_(id),
        b_(graph, graph.node(id).name),
        dtype_(type(0).dtype),
        params_(graph.node(id), dtype_),
        heads_((*type(0).shape)[1].constant()),
        shared_((*type(1).shape)[1].constant()) {}

  void run() {
    const ValueId keys = b_.transpose(scaled(input(1)), {0, 1, 3, 2});
    ValueId scores = b_.node("MatMul", {grouped(scaled(input(0)), shared_), keys});
    scores = changed(params_.scores, cast(grouped(scores, heads_), dtype_, params_.dtype));
    const ValueId p = changed(params_.probabilities, b_.node("Softmax", {scores}, {{"axis", int64_t{-1}}}));
    const ValueId values = cast(input(2), type(2).dtype, params_.dtype);
    const ValueId y = grouped(b_.node("MatMul", {grouped(p, shared_), values}), heads_);
    b_.replace(graph_.node(id_).outputs[0], cast(y, params_.dtype, type(2).dtype));
    graph_.erase_node(id_);
  }

 private:
  ValueId input(size_t i) const { return graph_.node(id_).inputs[i]; }
  const Value& type(size_t i) const { return graph_.value(input(i)); }
  ValueId cast(ValueId x, DType from, DType to) {
    return from == to ? x : b_.node("Cast", {x}, {{"to", int64_t{dtype_to_onnx(to)}}});
  }
  /// [B, heads, rows, size]: query heads that share a key head become rows, or rows become heads again.
  ValueId grouped(ValueId x, int64_t heads) {
    return heads_ == shared_ ? x : b_.node("Reshape", {x, b_.ints({0, heads, -1, 0})});
  }
  /// Multiplies each factor by the square root of the scale, because the product of 16-bit types could overflow.
  ValueId scaled(ValueId x) {
    if (params_.scale != 0) return b_.multiply(x, b_.scalar(dtype_, std::sqrt(params_.scale)));
    const Dim& size = type(0).shape->back();
    if (size.is_constant())
      return b_.multiply(x, b_.scalar(dtype_, std::pow(static_cast<double>(size.constant()), -0.25)));
    const ValueId n = cast(b_.element(b_.node("Shape", {input(0)}), 0, 3), DType::i64, dtype_);
    return b_.multiply(x, b_.node("Pow", {n, b_.scalar(dtype_, -0.25)}));
  }

  /// Copies the nodes of subgraph `number`, with x as their input.
  ValueId changed(int number, ValueId x) {
    if (number < 0) return x;
    const Node& node = graph_.node(id_);
    const Graph& body = *node.bodies[static_cast<size_t>(number)];
    std::map<ValueId, ValueId> values = {{body.inputs.at(0), x}};
    for (size_t i = 1; i < body.inputs.size(); ++i)
      values[body.inputs[i]] = node.inputs[node.inputs.size() - body.inputs.size() + i];
    copy_nodes(body, body.order(), graph_, values);
    const ValueId out = body.outputs.at(0);
    return values.count(out) != 0 ? values.at(out) : b_.constant(*body.value(out).constant);
  }

  Graph& graph_;
  NodeId id_;
  NodeBuilder b_;
  DType dtype_;
  FlexAttentionParams params_;
  int64_t heads_, shared_;
};

}  // namespace

bool expand_flex_attention(Graph& graph) {
  return expand_each(graph, op_FlexAttention, [](Graph& g, NodeId id) { FlexAttentionWriter(g, id).run(); });
}

}  // namespace gcg
