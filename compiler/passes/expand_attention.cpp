#include "compiler/passes/expand_attention.h"

#include <cmath>
#include <limits>

#include "compiler/ops/attention_params.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/node_builder.h"

namespace gcg {
namespace {

using Ints = std::vector<int64_t>;

/// The operands of the node that is expanded.
struct Source {
  Source(Graph& g, NodeId node) : graph(g), id(node) {}

  Graph& graph;
  NodeId id;

  const Node& node() const { return graph.node(id); }
  ValueId input(size_t i) const { return i < node().inputs.size() ? node().inputs[i] : ValueId(); }
  bool has_output(size_t i) const { return i < node().outputs.size() && node().outputs[i].valid(); }
  void replace(size_t i, ValueId by) {
    if (has_output(i)) NodeBuilder(graph, node().name).replace(node().outputs[i], by);
  }
  const Value& value(size_t i) const { return graph.value(input(i)); }
  const Shape& shape(size_t i) const { return *value(i).shape; }
};

ValueId reshape(NodeBuilder& b, ValueId x, const Ints& shape) { return b.node("Reshape", {x, b.ints(shape)}); }

// ---- RotaryEmbedding

void expand_rotary_embedding(Graph& graph, NodeId id) {
  Source from(graph, id);
  NodeBuilder b(graph, from.node().name);
  const DType dtype = from.value(0).dtype;
  const bool packed = from.shape(0).size() == 3;
  const bool interleaved = from.node().int_attribute("interleaved", 0) != 0;
  const int64_t partial = from.node().int_attribute("rotary_embedding_dim", 0);
  const int64_t heads = from.node().int_attribute("num_heads", 0), pair_axis = interleaved ? 4 : 3;
  ValueId x = from.input(0), cosine = from.input(1), sine = from.input(2);
  if (packed) x = reshape(b, x, {0, 0, heads, -1});
  const ValueId turning = partial ? b.slice(x, 3, 0, partial) : x;
  const ValueId pairs = reshape(b, turning, interleaved ? Ints{0, 0, 0, -1, 2} : Ints{0, 0, 0, 2, -1});
  // [B, S, half], shaped to broadcast against [B, H, S, ...] or [B, S, H, ...], with an additional axis for the two
  // halves.
  const auto spread = [&](ValueId cache) {
    if (from.input(3).valid()) cache = b.node("Gather", {cache, from.input(3)}, {{"axis", int64_t{0}}});
    return b.node("Unsqueeze", {cache, b.ints({packed ? 2 : 1, pair_axis})});
  };
  Tensor signs(dtype, interleaved ? Ints{2} : Ints{2, 1});
  signs.set_double(0, -1);
  signs.set_double(1, 1);
  const ValueId sine_signed = b.multiply(spread(sine), b.constant(std::move(signs)));
  ValueId y = b.add(b.multiply(pairs, spread(cosine)), b.multiply(b.reversed(pairs, pair_axis), sine_signed));
  y = reshape(b, y, {0, 0, 0, -1});
  if (partial) y = b.concat({y, b.slice(x, 3, partial, std::numeric_limits<int64_t>::max())}, 3);
  from.replace(0, packed ? reshape(b, y, {0, 0, -1}) : y);
  graph.erase_node(id);
}

// ---- Attention

class AttentionWriter {
 public:
  AttentionWriter(Graph& graph, NodeId id)
      : from_(graph, id),
        b_(graph, from_.node().name),
        dtype_(from_.value(0).dtype),
        params_(attention_params(from_.node(), from_.shape(kAttentionQ), from_.shape(kAttentionK),
                                 from_.shape(kAttentionV), has_past() ? &from_.shape(kAttentionPastKey) : nullptr)) {}

  void run() {
    q_ = heads_first(from_.input(kAttentionQ), params_.query_heads);
    const ValueId key = with_past(kAttentionK, kAttentionPastKey), value = with_past(kAttentionV, kAttentionPastValue);
    keys_ = key;
    ValueId scores =
        from_groups(b_.node("MatMul", {into_groups(scaled_query()), b_.transpose(scaled_key(key), {0, 1, 3, 2})}));
    if (!halves_scale()) scores = scaled(scores, 1);
    if (params_.qk_output_mode == 0) from_.replace(3, scores);
    if (params_.softcap > 0) scores = times(b_.node("Tanh", {times(scores, 1 / params_.softcap)}), params_.softcap);
    if (params_.qk_output_mode == 1) from_.replace(3, scores);
    scores = masked(scores);
    if (params_.qk_output_mode == 2) from_.replace(3, scores);
    const ValueId p = without_masked_rows(softmax(scores));
    if (params_.qk_output_mode == 3) from_.replace(3, p);
    ValueId y = from_groups(b_.node("MatMul", {into_groups(p), value}));
    if (params_.packed_heads) y = reshape(b_, b_.transpose(y, {0, 2, 1, 3}), {0, 0, -1});
    from_.replace(0, y);
    from_.replace(1, key);
    from_.replace(2, value);
    from_.graph.erase_node(from_.id);
  }

 private:
  bool has_past() const { return from_.input(kAttentionPastKey).valid(); }

  /// [B, heads, sequence, size]
  ValueId heads_first(ValueId x, const Dim& heads) {
    if (!params_.packed_heads) return x;
    return b_.transpose(reshape(b_, x, {0, 0, heads.constant(), -1}), {0, 2, 1, 3});
  }
  ValueId with_past(size_t now, size_t past) {
    const ValueId x = heads_first(from_.input(now), params_.key_heads);
    return has_past() ? b_.concat({from_.input(past), x}, 2) : x;
  }

  /// [B, H, rows, size] -> [B, G, H/G * rows, size] and back.
  ValueId into_groups(ValueId x) { return grouped(x, params_.key_heads); }
  ValueId from_groups(ValueId x) { return grouped(x, params_.query_heads); }
  ValueId grouped(ValueId x, const Dim& heads) {
    return params_.query_heads == params_.key_heads ? x : reshape(b_, x, {0, heads.constant(), -1, 0});
  }

  /// The product of 16-bit types could overflow. Each factor is therefore multiplied by the square root of the scale.
  bool halves_scale() const { return dtype_ != DType::f32 && dtype_ != DType::f64; }
  /// x times a power of the scale. The default scale is 1 / sqrt(head size).
  ValueId scaled(ValueId x, double power) {
    if (!params_.scale && !params_.head.is_constant()) {
      const ValueId size = b_.node("Cast", {count(q_, 3)}, {{"to", int64_t{dtype_to_onnx(dtype_)}}});
      return b_.multiply(x, b_.node("Pow", {size, b_.scalar(dtype_, -power / 2)}));
    }
    const double scale = params_.scale ? *params_.scale : 1 / std::sqrt(static_cast<double>(params_.head.constant()));
    return times(x, std::pow(scale, power));
  }
  ValueId times(ValueId x, double by) { return by == 1 ? x : b_.multiply(x, b_.scalar(dtype_, by)); }
  ValueId scaled_query() { return halves_scale() ? scaled(q_, 0.5) : q_; }
  ValueId scaled_key(ValueId key) { return halves_scale() ? scaled(key, 0.5) : key; }

  // ---- masks: `allowed` says which keys take part, `added` is added to the scores

  ValueId both(ValueId a, ValueId b) {
    if (!a.valid() || !b.valid()) return a.valid() ? a : b;
    return b_.node("And", {a, b});
  }
  ValueId count(ValueId x, int64_t axis) { return b_.element(b_.node("Shape", {x}), 0, axis); }
  ValueId number(int64_t value) { return b_.constant(Tensor::scalar_i64(value)); }
  /// The positions 0, 1, ... along `axis` of x.
  ValueId positions(ValueId x, int64_t axis) { return b_.node("Range", {number(0), count(x, axis), number(1)}); }

  /// The mask, shaped to broadcast against [B, H, S, T]. Keys past its end are masked.
  ValueId mask() {
    const ValueId mask = from_.input(kAttentionMask);
    if (!mask.valid()) return mask;
    const Shape& shape = from_.shape(kAttentionMask);
    const Dim missing = params_.keys - shape.back();
    if (shape.back().is(1) || !missing.is_constant() || missing.constant() <= 0) return mask;
    Ints pads(2 * shape.size(), 0);
    pads.back() = missing.constant();
    Tensor fill(from_.value(kAttentionMask).dtype, {});
    fill.set_double(0, fill.dtype() == DType::boolean ? 0 : -std::numeric_limits<double>::infinity());
    return b_.node("Pad", {mask, b_.ints(pads), b_.constant(std::move(fill))});
  }

  /// True for keys near the position of each query (causal masks and windows): [S, T] or [B, 1, S, T].
  ValueId near_queries() {
    if (!params_.causal && params_.left_window < 0 && params_.right_window < 0) return ValueId();
    ValueId here = b_.unsqueeze(positions(q_, 2), 1);  // [S, 1]
    const ValueId there = positions(keys_, 2);         // [T]
    if (const ValueId valid = valid_keys(); valid.valid()) {
      here = b_.add(here, b_.subtract(valid, count(q_, 2)));
    } else if (has_past()) {
      here = b_.add(here, count(from_.input(kAttentionPastKey), 2));
    }
    ValueId allowed;
    if (params_.causal) allowed = b_.node("LessOrEqual", {there, here});
    if (params_.left_window >= 0)
      allowed = both(allowed, b_.node("GreaterOrEqual", {there, b_.subtract(here, number(params_.left_window))}));
    if (params_.right_window >= 0)
      allowed = both(allowed, b_.node("LessOrEqual", {there, b_.add(here, number(params_.right_window))}));
    return allowed;
  }

  /// The number of valid keys of each sample, [B, 1, 1, 1]; none if all keys are valid.
  ValueId valid_keys() {
    const ValueId valid = from_.input(kAttentionValidKeys);
    if (!valid.valid()) return valid;
    return b_.node("Unsqueeze", {b_.node("Cast", {valid}, {{"to", kOnnxInt64}}), b_.ints({1, 2, 3})});
  }

  ValueId masked(ValueId scores) {
    const ValueId mask_input = mask();
    const bool boolean = mask_input.valid() && from_.value(kAttentionMask).dtype == DType::boolean;
    allowed_ = both(boolean ? mask_input : ValueId(), near_queries());
    if (const ValueId valid = valid_keys(); valid.valid())
      allowed_ = both(allowed_, b_.node("Less", {positions(keys_, 2), valid}));
    if (mask_input.valid() && !boolean) {
      added_ = mask_input;
      scores = b_.add(scores, mask_input);
    }
    if (!allowed_.valid()) return scores;
    return b_.node("Where", {allowed_, scores, lowest()});
  }

  ValueId lowest() { return b_.scalar(dtype_, -std::numeric_limits<double>::infinity()); }

  ValueId softmax(ValueId scores) {
    const auto as = [&](ValueId x, DType dtype) {
      return b_.node("Cast", {x}, {{"to", int64_t{dtype_to_onnx(dtype)}}});
    };
    const bool converts = params_.softmax_dtype && *params_.softmax_dtype != dtype_;
    const ValueId p =
        b_.node("Softmax", {converts ? as(scores, *params_.softmax_dtype) : scores}, {{"axis", int64_t{-1}}});
    return converts ? as(p, dtype_) : p;
  }

  /// A query without any key gets zeros instead of an empty softmax. Causal masks alone leave every query the first
  /// key.
  ValueId without_masked_rows(ValueId p) {
    const bool certain = !from_.input(kAttentionMask).valid() && !from_.input(kAttentionValidKeys).valid() &&
                         params_.left_window < 0 && params_.right_window < 0;
    if (certain) return p;
    ValueId left = allowed_;
    if (added_.valid()) left = both(left, b_.node("Greater", {added_, lowest()}));
    const ValueId any = b_.node("ReduceMax", {left, b_.ints({-1})}, {{"keepdims", int64_t{1}}});
    return b_.node("Where", {any, p, b_.scalar(dtype_, 0)});
  }

  static constexpr int64_t kOnnxInt64 = 7;

  Source from_;
  NodeBuilder b_;
  DType dtype_;
  AttentionParams params_;
  ValueId q_, keys_;  // [B, H, S, D], [B, G, T, D]
  ValueId allowed_, added_;
};

bool expand_all(Graph& graph) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i) changed |= expand_all(*graph.node(id).bodies[i]);
    const OpDef* op_def = graph.node(id).op;
    if (op_def != &op("Attention") && op_def != &op("RotaryEmbedding")) continue;
    if (op_def == &op("Attention"))
      AttentionWriter(graph, id).run();
    else
      expand_rotary_embedding(graph, id);
    changed = true;
  }
  return changed;
}

}  // namespace

bool expand_attention(Graph& graph) {
  const bool changed = expand_all(graph);
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
