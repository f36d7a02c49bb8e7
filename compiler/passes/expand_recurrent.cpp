#include "compiler/passes/expand_recurrent.h"

#include "compiler/ops/infer.h"
#include "compiler/ops/recurrent.h"
#include "compiler/passes/loop_writer.h"
#include "compiler/passes/recurrent_cell.h"

namespace gcg {
namespace {

using namespace recurrent;

/// The expansion of one recurrent node.
class Expansion {
 public:
  Expansion(Graph& graph, NodeId id)
      : graph_(graph), id_(id), params_(recurrent_params(graph.node(id))), b_(graph, graph.node(id).name) {
    const Value& x = graph.value(input(kX));
    dtype_ = x.dtype;
    steps_ = (*x.shape)[params_.batch_first ? 1 : 0];
    const Dim hidden = graph.value(input(kR)).shape->at(params_.quantized ? 1 : 2);
    if (!hidden.is_constant())
      fail(graph.node(id).op->name, " '", b_.name(), "': the hidden size ", hidden.str(), " must be a number");
    hidden_ = hidden.constant();
  }

  void run() {
    x_ = params_.batch_first ? b_.transpose(input(kX), {1, 0, 2}) : input(kX);
    lengths_ = checked_lengths();
    std::vector<ValueId> y, h, c;
    for (size_t d = 0; d < params_.backward.size(); ++d) {
      const Direction out = expand(d);
      if (has_output(0)) y.push_back(b_.unsqueeze(out.y, 1));
      h.push_back(b_.unsqueeze(out.last.h, 0));
      if (has_output(2)) c.push_back(b_.unsqueeze(out.last.c, 0));
    }
    if (has_output(0)) replace(0, b_.concat(y, 1), {2, 0, 1, 3});
    if (has_output(1)) replace(1, b_.concat(h, 0), {1, 0, 2});
    if (has_output(2)) replace(2, b_.concat(c, 0), {1, 0, 2});
    graph_.erase_node(id_);
  }

 private:
  struct Direction {
    ValueId y;  // [steps, B, H]
    CellState last;
  };

  ValueId input(int i) const {
    const auto& inputs = graph_.node(id_).inputs;
    return i < std::ssize(inputs) ? inputs[static_cast<size_t>(i)] : ValueId();
  }
  bool has_output(size_t i) const {
    const auto& outputs = graph_.node(id_).outputs;
    return i < outputs.size() && outputs[i].valid();
  }
  void replace(size_t i, ValueId by, std::vector<int64_t> to_batch_first) {
    if (params_.batch_first) by = b_.transpose(by, std::move(to_batch_first));
    graph_.replace_uses(graph_.node(id_).outputs[i], by);
  }

  /// sequence_lens as i64, checked to lie in [0, steps]. A Gather from 0, 1, ..., steps returns the index itself, and
  /// an index outside ends the run with an error.
  ValueId checked_lengths() {
    if (!input(kSequenceLens).valid()) return {};
    const ValueId lengths = b_.node("Cast", {input(kSequenceLens)}, {{"to", int64_t{dtype_to_onnx(DType::i64)}}});
    const ValueId end = b_.add(b_.element(b_.node("Shape", {x_}), 0, 0), integer(1));
    const ValueId from_start = b_.node("Where", {b_.node("Less", {lengths, integer(0)}), end, lengths});
    return b_.node("Gather", {b_.node("Range", {integer(0), end, integer(1)}), from_start});
  }
  ValueId integer(int64_t i) { return b_.constant(Tensor::scalar_i64(i)); }

  Direction expand(size_t d) {
    const auto at = static_cast<int64_t>(d);
    CellInputs in;
    in.recurrent = factor(kR, kRScale, at);
    in.h = initial_state(kInitialH, at);
    if (params_.gates == 4) in.c = initial_state(kInitialC, at);
    if (input(kP).valid()) in.peepholes = b_.element(input(kP), 0, at);
    ValueId projected = recurrent_product(b_, x_, factor(kW, kWScale, at));
    if (input(kB).valid()) {
      const ValueId bias = b_.element(input(kB), 0, at);
      if (params_.linear_before_reset && params_.gates == 3)
        in.reset_bias = b_.slice(bias, 0, 5 * hidden_, 6 * hidden_);
      projected = b_.add(projected, early_bias(bias));
    }
    return steps_.is(1) ? one_step(d, projected, in) : loop(d, projected, in);
  }

  /// W or R of a direction. Scale and zero point of a quantised node are the inputs from `scale` on.
  RecurrentFactor factor(int weights, int scale, int64_t direction) {
    const auto element = [&](int i) { return b_.element(input(i), 0, direction); };
    if (!params_.quantized) return {b_.transpose(element(weights), {1, 0}), ValueId(), ValueId()};
    return {element(weights), element(scale), element(scale + 1)};
  }

  /// [G*H]: W's bias plus R's, without the part that belongs inside the reset product.
  ValueId early_bias(ValueId bias) {
    const int64_t size = params_.gates * hidden_;
    const ValueId of_w = b_.slice(bias, 0, 0, size);
    if (!(params_.linear_before_reset && params_.gates == 3)) return b_.add(of_w, b_.slice(bias, 0, size, 2 * size));
    const ValueId z_and_r = b_.add(b_.slice(of_w, 0, 0, 2 * hidden_), b_.slice(bias, 0, size, size + 2 * hidden_));
    return b_.concat({z_and_r, b_.slice(of_w, 0, 2 * hidden_, size)}, 0);
  }

  /// [B, H]: the given state of the direction, or zeros. The state gets the symbols that X and R have for its extents,
  /// because a Loop's variables keep their shape.
  ValueId initial_state(int i, int64_t direction) {
    const auto shape = [&] { return b_.concat({b_.slice(b_.node("Shape", {x_}), 0, 1, 2), b_.ints({hidden_})}, 0); };
    if (!input(i).valid()) return b_.node("Expand", {b_.scalar(dtype_, 0), shape()});
    const Shape& x = *graph_.value(input(kX)).shape;
    const auto& initial_shape =
        graph_.value(input(i)).shape;  // the state of a layer that was expanded before has no shape yet
    const size_t batch = params_.batch_first ? 0 : 1;
    const ValueId state = b_.element(input(i), params_.batch_first ? 1 : 0, direction);
    const bool fits = initial_shape && (*initial_shape)[batch] == x[batch] && (*initial_shape)[2].is(hidden_);
    return fits ? state : b_.node("Reshape", {state, shape()});
  }

  Direction one_step(size_t d, ValueId projected, CellInputs in) {
    in.projected = b_.element(projected, 0, 0);
    const CellState next = write_cell(b_, params_, d, dtype_, hidden_, in);
    const Masked out = mask(b_, {in.h, in.c}, next, lengths_, b_.constant(Tensor::scalar_i64(0)));
    return {b_.unsqueeze(out.y, 0), out.state};
  }

  struct Masked {
    ValueId y;  // [B, H]
    CellState state;
  };

  /// Keeps the state and outputs zeros if step `t` is past the end of the sequence.
  Masked mask(NodeBuilder& b, const CellState& before, const CellState& next, ValueId lengths, ValueId t) {
    if (!lengths.valid()) return {next.h, next};
    const ValueId inside = b.unsqueeze(b.node("Less", {t, lengths}), 1);
    Masked masked;
    masked.y = b.node("Where", {inside, next.h, b.scalar(dtype_, 0)});
    masked.state.h = b.node("Where", {inside, next.h, before.h});
    if (next.c.valid()) masked.state.c = b.node("Where", {inside, next.c, before.c});
    return masked;
  }

  Direction loop(size_t d, ValueId projected, const CellInputs& in) {
    const ValueId count = b_.element(b_.node("Shape", {x_}), 0, 0);
    LoopWriter loop(b_.name(), {count, ValueId(), in.h});
    const ValueId iteration = loop.body_input("iteration"), condition = loop.body_input("condition");
    CellInputs inner;
    inner.h = loop.body_input("h");
    if (in.c.valid()) {
      loop.node.inputs.push_back(in.c);
      inner.c = loop.body_input("c");
    }
    const ValueId all_projected = loop.capture(projected, "projected");
    inner.recurrent = {loop.capture(in.recurrent.values, "recurrent"),
                       loop.capture(in.recurrent.scale, "recurrent_scale"),
                       loop.capture(in.recurrent.zero_point, "recurrent_zero_point")};
    inner.peepholes = loop.capture(in.peepholes, "peepholes");
    inner.reset_bias = loop.capture(in.reset_bias, "reset_bias");
    const ValueId lengths = loop.capture(lengths_, "sequence_lens");
    const bool backward = params_.backward[d];
    const ValueId steps = backward ? loop.capture(count, "steps") : ValueId();

    Graph& body = *loop.node.bodies[0];
    NodeBuilder inside(body, b_.name());
    ValueId t = iteration;
    if (backward) t = inside.subtract(inside.subtract(steps, inside.constant(Tensor::scalar_i64(1))), iteration);
    inner.projected = inside.node("Gather", {all_projected, t}, {{"axis", int64_t{0}}});
    const CellState next = write_cell(inside, params_, d, dtype_, hidden_, inner);
    const Masked out = mask(inside, {inner.h, inner.c}, next, lengths, t);
    body.outputs = {condition, out.state.h};
    if (in.c.valid()) body.outputs.push_back(out.state.c);
    if (has_output(0)) body.outputs.push_back(out.y);
    return add_loop(std::move(loop.node), in.c.valid(), backward);
  }

  Direction add_loop(Node node, bool has_cell, bool backward) {
    const auto result = [&] {
      Value v;
      v.name = b_.name();
      node.outputs.push_back(graph_.add_value(std::move(v)));
      return node.outputs.back();
    };
    Direction out;
    out.last.h = result();
    if (has_cell) out.last.c = result();
    if (has_output(0)) out.y = result();
    graph_.add_node(std::move(node));
    if (backward && has_output(0)) out.y = b_.reversed(out.y, 0);
    return out;
  }

  Graph& graph_;
  NodeId id_;
  RecurrentParams params_;
  NodeBuilder b_;
  DType dtype_;
  Dim steps_;
  int64_t hidden_ = 0;
  ValueId x_;        // [steps, B, input]
  ValueId lengths_;  // [B] i64; invalid: all sequences have `steps` elements
};

bool expand_all(Graph& graph) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i) changed |= expand_all(*graph.node(id).bodies[i]);
    if (!is_recurrent(graph.node(id))) continue;
    Expansion(graph, id).run();
    changed = true;
  }
  return changed;
}

}  // namespace

bool expand_recurrent(Graph& graph) {
  const bool changed = expand_all(graph);
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
