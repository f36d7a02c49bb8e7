#include "compiler/passes/expand_linear_attention.h"

#include <cmath>

#include "compiler/ops/linear_attention.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/expand_each.h"
#include "compiler/passes/loop_writer.h"

namespace gcg {
namespace {

using Params = LinearAttentionParams;

/// The inputs of all steps, [B, T, heads, size], and the state, [B, heads, keys, values].
struct Operands {
  ValueId query, key, value, decay, beta, state;
};

class LinearAttentionWriter {
 public:
  LinearAttentionWriter(Graph& graph, NodeId id)
      : graph_(graph),
        id_(id),
        params_(graph.node(id)),
        b_(graph, graph.node(id).name),
        dtype_(type(Params::kQuery).dtype),
        sums_(dtype_ == DType::f64 ? DType::f64 : DType::f32) {}

  void run() {
    const Operands all = operands();
    const Dim steps = (*type(Params::kQuery).shape)[1];
    Step last = steps.is(1) ? step(b_, all, b_.constant(Tensor::scalar_i64(0))) : loop(all);
    if (steps.is(1)) last.output = b_.unsqueeze(last.output, 0);
    const ValueId y = b_.multiply(b_.transpose(last.output, {1, 0, 2}), scale());  // from [T, B, heads * values]
    finish(0, y, dtype_);
    finish(1, last.state, input(Params::kPast).valid() ? type(Params::kPast).dtype : dtype_);
    graph_.erase_node(id_);
  }

 private:
  struct Step {
    ValueId state, output;
  };

  ValueId input(size_t i) const {
    const auto& inputs = graph_.node(id_).inputs;
    return i < inputs.size() ? inputs[i] : ValueId();
  }
  const Value& type(size_t i) const { return graph_.value(input(i)); }
  ValueId cast(ValueId x, DType from, DType to) {
    return from == to ? x : b_.node("Cast", {x}, {{"to", int64_t{dtype_to_onnx(to)}}});
  }
  static ValueId reshape(NodeBuilder& b, ValueId x, const std::vector<int64_t>& shape) {
    return b.node("Reshape", {x, b.ints(shape)});
  }
  ValueId heads(size_t i, int64_t count) {
    if (!input(i).valid()) return ValueId();
    return reshape(b_, cast(input(i), type(i).dtype, sums_), {0, 0, count, -1});
  }
  void finish(size_t i, ValueId y, DType to) {
    const auto& outputs = graph_.node(id_).outputs;
    if (i < outputs.size() && outputs[i].valid()) b_.replace(outputs[i], cast(y, sums_, to));
  }

  Operands operands() {
    const bool shared_beta = params_.corrects && type(Params::kBeta).shape->back().is(1);
    Operands all{heads(Params::kQuery, params_.query_heads),
                 heads(Params::kKey, params_.heads),
                 heads(Params::kValue, params_.heads),
                 heads(Params::kDecay, params_.heads),
                 heads(Params::kBeta, shared_beta ? 1 : params_.heads),
                 {}};
    if (input(Params::kPast).valid()) {
      all.state = cast(input(Params::kPast), type(Params::kPast).dtype, sums_);
      return all;
    }
    const auto extent = [&](ValueId x, int64_t axis) { return b_.slice(b_.node("Shape", {x}), 0, axis, axis + 1); };
    const ValueId shape =
        b_.concat({extent(all.query, 0), b_.ints({params_.heads}), extent(all.key, 3), extent(all.value, 3)}, 0);
    all.state = b_.node("ConstantOfShape", {shape}, {{"value", std::make_shared<const Tensor>(Tensor(sums_, {1}))}});
    return all;
  }

  ValueId scale() {
    if (params_.scale != 0) return b_.scalar(sums_, params_.scale);
    const Dim keys = floor_div((*type(Params::kQuery).shape)[2], params_.query_heads);
    if (keys.is_constant()) return b_.scalar(sums_, 1 / std::sqrt(static_cast<double>(keys.constant())));
    const ValueId size = b_.element(b_.node("Shape", {heads(Params::kQuery, params_.query_heads)}), 0, 3);
    return b_.node("Pow", {cast(size, DType::i64, sums_), b_.scalar(sums_, -0.5)});
  }

  /// Writes step `t`. Its output is [B, heads * values].
  Step step(NodeBuilder& b, const Operands& all, ValueId t) const {
    const auto now = [&](ValueId x) { return b.node("Gather", {x, t}, {{"axis", int64_t{1}}}); };  // [B, heads, size]
    const ValueId key = now(all.key);
    ValueId state = all.state, value = b.unsqueeze(now(all.value), 2);
    if (params_.decays) state = b.multiply(state, b.unsqueeze(b.node("Exp", {now(all.decay)}), 3));
    if (params_.corrects) {
      const ValueId known = b.node("MatMul", {b.unsqueeze(key, 2), state});
      value = b.multiply(b.unsqueeze(now(all.beta), 3), b.subtract(value, known));
    }
    state = b.add(state, b.multiply(b.unsqueeze(key, 3), value));
    const ValueId query = reshape(b, now(all.query), {0, params_.heads, params_.query_heads / params_.heads, -1});
    return {state, reshape(b, b.node("MatMul", {query, state}), {0, -1})};
  }

  Step loop(const Operands& all) {
    LoopWriter loop(b_.name(), {b_.element(b_.node("Shape", {all.query}), 0, 1), ValueId(), all.state});
    const ValueId iteration = loop.body_input("iteration"), condition = loop.body_input("condition");
    Operands inner;
    inner.state = loop.body_input("state");
    inner.query = loop.capture(all.query, "query");
    inner.key = loop.capture(all.key, "key");
    inner.value = loop.capture(all.value, "value");
    inner.decay = loop.capture(all.decay, "decay");
    inner.beta = loop.capture(all.beta, "beta");
    Graph& body = *loop.node.bodies[0];
    NodeBuilder inside(body, b_.name());
    const Step next = step(inside, inner, iteration);
    body.outputs = {condition, next.state, next.output};
    for (const char* name : {".state", ".output"}) {
      Value out;
      out.name = graph_.unique_name(b_.name() + name);
      loop.node.outputs.push_back(graph_.add_value(std::move(out)));
    }
    const Step last{loop.node.outputs[0], loop.node.outputs[1]};
    graph_.add_node(std::move(loop.node));
    return last;
  }

  Graph& graph_;
  NodeId id_;
  Params params_;
  NodeBuilder b_;
  DType dtype_, sums_;
};

}  // namespace

bool expand_linear_attention(Graph& graph) {
  return expand_each(graph, op_LinearAttention, [](Graph& g, NodeId id) { LinearAttentionWriter(g, id).run(); });
}

}  // namespace gcg
