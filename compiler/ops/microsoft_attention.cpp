// com.microsoft: Attention, QAttention and MultiHeadAttention, rewritten as ONNX's Attention.
#include "compiler/ops/microsoft.h"

namespace gcg {

ValueId heads_first(Expansion& b, ValueId x, int64_t heads) {
  return b.transpose(b.reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}
ValueId heads_last(Expansion& b, ValueId x) { return b.reshape(b.transpose(x, {0, 2, 1, 3}), {0, 0, -1}); }

ValueId positions(NodeBuilder& b, ValueId count) {
  return b.node("Range", {b.constant(Tensor::scalar_i64(0)), count, b.constant(Tensor::scalar_i64(1))});
}

namespace {

using Results = std::vector<ValueId>;

int64_t head_count(const Expansion& x) {
  const int64_t heads = x.node().int_attribute("num_heads", 0);
  if (heads < 1) x.fail(concat("num_heads is ", heads, ", it must be at least 1"));
  return heads;
}

/// The keys that count, in a shape that broadcasts to [B, heads, queries, keys].
ValueId counted_keys(Expansion& x, const MicrosoftAttention& a) {
  const ValueId padding = x.cast(a.padding, DType::i64), zero = x.constant(Tensor::scalar_i64(0));
  if (a.padding_rank == 2) return x.node("Greater", {x.node("Unsqueeze", {padding, x.ints({1, 2})}), zero});
  if (a.padding_rank == 3) return x.node("Greater", {x.unsqueeze(padding, 1), zero});
  ValueId keys = x.extent_of(a.k, 2);
  if (a.past_key.valid()) keys = x.add(keys, x.extent_of(a.past_key, 2));
  const ValueId place = positions(x, keys);
  const auto column = [&](ValueId v) { return x.reshape(v, {-1, 1, 1, 1}); };
  if (!a.padding_has_starts) return x.node("Less", {place, column(padding)});
  const ValueId halves = x.reshape(padding, {2, -1});
  return x.node("And", {x.node("Less", {place, column(x.element(halves, 0, 0))}),
                        x.node("GreaterOrEqual", {place, column(x.element(halves, 0, 1))})});
}

/// The bias of the scores; invalid: none.
ValueId score_bias(Expansion& x, const MicrosoftAttention& a, DType dtype) {
  if (!a.padding.valid()) return a.bias;
  const ValueId masked = x.scalar(dtype, x.node().float_attribute("mask_filter_value", -10000));
  const ValueId filter = x.node("Where", {counted_keys(x, a), x.scalar(dtype, 0), masked});
  return a.bias.valid() ? x.add(a.bias, filter) : filter;
}

}  // namespace

MicrosoftAttended microsoft_attention(Expansion& x, const MicrosoftAttention& a) {
  std::map<std::string, Attribute> attributes = {{"is_causal", int64_t{a.causal ? 1 : 0}}};
  if (const double scale = x.node().float_attribute("scale", 0); scale != 0) attributes["scale"] = scale;
  const ValueId bias = score_bias(x, a, DType::f32);
  const Results y = x.outputs(op("Attention"), {a.q, a.k, a.v, bias, a.past_key, a.past_value}, 4, attributes);
  return {heads_last(x, y[0]), y[1], y[2], y[3]};
}

namespace {

/// Reads type, extents and rank of the padding at input i: [B], [2B], [B, keys] or [B, queries, keys].
void take_padding(Expansion& x, size_t i, const Dim& batch, MicrosoftAttention& a) {
  if (!x.has_input(i)) return;
  a.padding = x.input(i);
  a.padding_rank = x.rank(i);
  if (a.padding_rank < 1 || a.padding_rank > 3)
    x.fail(concat("a mask of ", a.padding_rank, " dimensions is not supported"));
  if (a.padding_rank != 1) return;
  const Dim& length = x.shape(i)[0];
  a.padding_has_starts = length == batch * 2;
  if (!a.padding_has_starts && !(length == batch) && !length.is(1) && length.is_constant() && batch.is_constant())
    x.fail(concat("a mask of ", length.str(), " numbers for ", batch.str(), " samples is not supported"));
}

/// Splits [2, B, heads, keys, size] into its halves.
void take_past(Expansion& x, size_t i, MicrosoftAttention& a) {
  if (!x.has_input(i)) return;
  a.past_key = x.element(x.input(i), 0, 0);
  a.past_value = x.element(x.input(i), 0, 1);
}

/// Splits queries, keys and values, which are concatenated along the last axis of `qkv`.
void split_heads(Expansion& x, ValueId qkv, const std::vector<int64_t>& hidden, MicrosoftAttention& a) {
  ValueId* const parts[] = {&a.q, &a.k, &a.v};
  int64_t from = 0;
  for (size_t i = 0; i < 3; from += hidden[i++])
    *parts[i] = heads_first(x, x.slice(qkv, 2, from, from + hidden[i]), head_count(x));
}

/// Attention of x * weights + bias, with all three projections in one product.
Results attend_projected(Expansion& x, ValueId qkv, int64_t width, size_t mask, size_t past, size_t bias) {
  std::vector<int64_t> hidden = x.node().ints_attribute("qkv_hidden_sizes");
  if (hidden.empty()) hidden = {width / 3, width / 3, width / 3};
  if (hidden.size() != 3 || hidden[0] + hidden[1] + hidden[2] != width)
    x.fail(concat("qkv_hidden_sizes must be 3 numbers with the sum ", width));
  if (x.node().int_attribute("do_rotary", 0) != 0) x.fail("do_rotary is not supported");
  MicrosoftAttention a;
  split_heads(x, qkv, hidden, a);
  take_padding(x, mask, x.shape(0)[0], a);
  take_past(x, past, a);
  a.bias = x.input(bias);
  a.causal = x.node().int_attribute("unidirectional", 0) != 0;
  const MicrosoftAttended y = microsoft_attention(x, a);
  if (!x.has_output(1)) return {y.output};
  return {y.output, x.concat({x.unsqueeze(y.present_key, 0), x.unsqueeze(y.present_value, 0)}, 0)};
}

constexpr size_t kNone = 100;  // no such input

Results expand_attention(Expansion& x) {
  if (x.has_input(6)) x.fail("a past in a buffer of maximum length (past_sequence_length) is not supported");
  ValueId qkv = x.node("MatMul", {x.input(0), x.input(1)});
  if (x.has_input(2)) qkv = x.add(qkv, x.input(2));
  return attend_projected(x, qkv, x.extent(1, 1), 3, 4, 5);
}

Results expand_quantized_attention(Expansion& x) {
  enum : size_t { kX, kWeights, kBias, kXScale, kWeightsScale, kMask, kXZero, kWeightsZero, kPast };
  const auto dequantized = [&](size_t i, size_t scale, size_t zero) {
    std::vector<ValueId> operands = {x.input(i), x.input(scale)};
    if (x.has_input(zero)) operands.push_back(x.input(zero));
    return x.node("DequantizeLinear", operands, {{"axis", int64_t{1}}});
  };
  const ValueId y =
      x.node("MatMul", {dequantized(kX, kXScale, kXZero), dequantized(kWeights, kWeightsScale, kWeightsZero)});
  return attend_projected(x, x.add(y, x.input(kBias)), x.extent(kWeights, 1), kMask, kPast, kNone);
}

// ---- MultiHeadAttention

enum : size_t {
  kQuery,
  kKey,
  kValue,
  kProjectionBias,
  kPadding,
  kScoreBias,
  kPastKey,
  kPastValue,
  kPastLength,
  kIndirection
};

/// Adds a projection's bias to `v`, which is still 3-D. Elements [from, to) of input 3 are this bias.
ValueId with_bias(Expansion& x, ValueId v, int64_t from, int64_t to) {
  return x.has_input(kProjectionBias) ? x.add(v, x.slice(x.input(kProjectionBias), 0, from, to)) : v;
}

void take_heads(Expansion& x, MicrosoftAttention& a) {
  const int64_t heads = head_count(x);
  const auto part = [&](size_t i, int64_t which) {  // selects from [B, sequence, heads, parts, size]
    return x.transpose(x.element(x.input(i), 3, which), {0, 2, 1, 3});
  };
  const bool packed = x.rank(kQuery) == 5 || (x.has_input(kKey) && x.rank(kKey) == 5);
  if (packed && x.has_input(kProjectionBias)) x.fail("a bias of packed queries, keys and values is not supported");
  if (x.rank(kQuery) == 5) {
    a.q = part(kQuery, 0), a.k = part(kQuery, 1), a.v = part(kQuery, 2);
    return;
  }
  if (!x.has_input(kKey)) x.fail("the key (input 1) is missing");
  const int64_t hidden = x.has_input(kProjectionBias) ? x.extent(kQuery, 2) : 0;
  a.q = heads_first(x, with_bias(x, x.input(kQuery), 0, hidden), heads);
  if (x.rank(kKey) == 5) {
    a.k = part(kKey, 0), a.v = part(kKey, 1);
  } else if (x.rank(kKey) == 4) {
    a.k = x.input(kKey), a.v = x.input(kValue);
  } else {
    const int64_t end = x.has_input(kProjectionBias) ? x.extent(kProjectionBias, 0) : 0;
    a.k = heads_first(x, with_bias(x, x.input(kKey), hidden, 2 * hidden), heads);
    a.v = heads_first(x, with_bias(x, x.input(kValue), 2 * hidden, end), heads);
  }
}

Results expand_multi_head_attention(Expansion& x) {
  if (x.has_input(kPastLength) || x.has_input(kIndirection))
    x.fail("a past in a buffer of maximum length (past_sequence_length, cache_indirection) is not supported");
  MicrosoftAttention a;
  take_heads(x, a);
  take_padding(x, kPadding, x.shape(kQuery)[0], a);
  a.past_key = x.input(kPastKey), a.past_value = x.input(kPastValue);
  a.bias = x.input(kScoreBias);
  a.causal = x.node().int_attribute("unidirectional", 0) != 0;
  const MicrosoftAttended y = microsoft_attention(x, a);
  return {y.output, y.present_key, y.present_value, y.scores};
}

}  // namespace

constinit const ExpandedOp op_microsoft_Attention =
    microsoft("Attention", 2, 7,
              {Types::floats, Types::as_first, Types::as_first, Types::integers, Types::as_first, Types::as_first,
               Types::integers},
              expand_attention, 2);
constinit const ExpandedOp op_microsoft_QAttention =
    giving({Types::floats}, microsoft("QAttention", 5, 9,
                                      {Types::bytes, Types::bytes, Types::floats, Types::floats, Types::floats,
                                       Types::integers, Types::bytes, Types::bytes, Types::floats},
                                      expand_quantized_attention, 2));
constinit const ExpandedOp op_microsoft_MultiHeadAttention =
    microsoft("MultiHeadAttention", 1, 10,
              {Types::floats, Types::as_first, Types::as_first, Types::as_first, Types::integers, Types::as_first,
               Types::as_first, Types::as_first, Types::integers},
              expand_multi_head_attention, 4);

}  // namespace gcg
