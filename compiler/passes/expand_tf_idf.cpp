#include "compiler/passes/expand_tf_idf.h"

#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/tf_idf.h"
#include "compiler/passes/expand_each.h"

namespace gcg {
namespace {

class TfIdfWriter {
 public:
  TfIdfWriter(Graph& graph, NodeId id)
      : graph_(graph), id_(id), params_(graph.node(id)), b_(graph, graph.node(id).name), x_(graph.node(id).inputs[0]) {}

  void run() {
    x_ = b_.node("Cast", {x_}, {{"to", int64_t{dtype_to_onnx(DType::i64)}}});
    ValueId y;
    for (const TfIdfParams::Grams& g : params_.grams) {
      ValueId counts;
      for (int64_t skips = 0; skips <= params_.skips_of(g); ++skips) {
        const ValueId found = count(g, skips + 1);
        counts = counts.valid() ? b_.add(counts, found) : found;
      }
      const ValueId columns = b_.node("MatMul", {counts, columns_of(g)});
      y = y.valid() ? b_.add(y, columns) : columns;
    }
    if (!y.valid()) y = none();
    if (!params_.counts) y = cast(b_.node("Greater", {y, b_.scalar(DType::f32, 0)}), DType::f32);
    if (params_.weighs) {
      Tensor weights(DType::f32, {params_.columns});
      for (int64_t i = 0; i < params_.columns; ++i) weights.set_double(i, params_.weights[static_cast<size_t>(i)]);
      y = b_.multiply(y, b_.constant(std::move(weights)));
    }
    b_.replace(graph_.node(id_).outputs[0], y);
    graph_.erase_node(id_);
  }

 private:
  ValueId cast(ValueId x, DType to) { return b_.node("Cast", {x}, {{"to", int64_t{dtype_to_onnx(to)}}}); }
  ValueId number(int64_t n) { return b_.constant(Tensor::scalar_i64(n)); }

  /// The number of occurrences of each gram whose tokens are `step` apart, [.., grams].
  ValueId count(const TfIdfParams::Grams& g, int64_t step) {
    const ValueId length = b_.element(b_.node("Shape", {x_}), 0, -1), reach = number((g.length - 1) * step);
    const ValueId starts = b_.node("Range", {number(0), b_.subtract(length, reach), number(1)});
    std::vector<int64_t> offsets;
    for (int64_t i = 0; i < g.length; ++i) offsets.push_back(i * step);
    const ValueId places = b_.add(b_.unsqueeze(starts, 1), b_.ints(offsets));
    const ValueId windows = b_.unsqueeze(b_.node("Gather", {x_, places}, {{"axis", int64_t{-1}}}), -2);
    Tensor tokens(DType::i64, {static_cast<int64_t>(g.columns.size()), g.length});
    for (int64_t i = 0; i < tokens.elements(); ++i) tokens.set_int(i, g.tokens[static_cast<size_t>(i)]);
    const ValueId same = cast(b_.node("Equal", {windows, b_.constant(std::move(tokens))}), DType::f32);
    const ValueId whole = b_.node("ReduceMin", {same, b_.ints({-1})}, {{"keepdims", int64_t{0}}});
    return b_.node("ReduceSum", {whole, b_.ints({-2})}, {{"keepdims", int64_t{0}}});
  }

  /// [grams, columns]: 1 where the gram belongs to the column.
  ValueId columns_of(const TfIdfParams::Grams& g) {
    const auto count = static_cast<int64_t>(g.columns.size());
    Tensor m(DType::f32, {count, params_.columns});
    for (int64_t k = 0; k < count; ++k) m.set_double(k * params_.columns + g.columns[static_cast<size_t>(k)], 1);
    return b_.constant(std::move(m));
  }

  /// Zeros, because there is nothing to count.
  ValueId none() {
    const ValueId rows = b_.slice(b_.node("Shape", {x_}), 0, 0, -1);
    return b_.node("Expand", {b_.scalar(DType::f32, 0), b_.concat({rows, b_.ints({params_.columns})}, 0)});
  }

  Graph& graph_;
  NodeId id_;
  TfIdfParams params_;
  NodeBuilder b_;
  ValueId x_;
};

}  // namespace

bool expand_tf_idf(Graph& graph) {
  return expand_each(graph, op_TfIdfVectorizer, [](Graph& g, NodeId id) { TfIdfWriter(g, id).run(); });
}

}  // namespace gcg
