// com.microsoft: layers whose state has a fixed size, and the operators around them: CausalConvWithState,
// LinearAttention, LinearAttentionGate and GatedRMSNorm. The first two also belong to ai.onnx, with fewer attributes.
#include "compiler/ops/microsoft.h"
#include "compiler/ops/op_support.h"

namespace gcg {
namespace {

using Results = std::vector<ValueId>;

// ---- CausalConvWithState

class CausalConv {
 public:
  explicit CausalConv(Expansion& x)
      : x_(x),
        last_(x.node().int_attribute("channels_last", 0) != 0),
        dilation_(x.node().int_attribute("dilation", 1)) {
    if (dilation_ < 1) x.fail(concat("dilation is ", dilation_, ", it must be at least 1"));
    taps_ = x.extent(kWeight, 2);
  }

  Results run() {
    const ValueId input = channels_first(x_.input(kInput));
    ValueId past = x_.input(kPast);
    if (past.valid()) past = channels_first(past);
    const Results y = x_.outputs(op("CausalConvWithState"), {input, spread_taps(), x_.input(kBias), past}, 2,
                                 x_.attributes({"activation"}));
    return {as_input(y[0]), as_input(y[1])};
  }

 private:
  enum : size_t { kInput, kWeight, kBias, kPast };

  /// [B, length, d_1, ...] -> [B, channels, length] if channels are last.
  ValueId channels_first(ValueId v) {
    return last_ ? x_.transpose(x_.reshape(v, {0, 0, x_.extent(kWeight, 0)}), {0, 2, 1}) : v;
  }

  /// The opposite, with the input's axes of channels.
  ValueId as_input(ValueId v) {
    if (!last_) return v;
    std::vector<int64_t> shape = {0, 0};
    for (int64_t axis = 2; axis < x_.rank(kInput); ++axis) shape.push_back(x_.extent(kInput, axis));
    return x_.reshape(x_.transpose(v, {0, 2, 1}), shape);
  }

  /// The weights with zeros between their taps.
  ValueId spread_taps() {
    if (dilation_ == 1) return x_.input(kWeight);
    const ValueId padded =
        x_.node("Pad", {x_.unsqueeze(x_.input(kWeight), 3), x_.ints({0, dilation_ - 1}), ValueId(), x_.ints({3})});
    return x_.slice(x_.reshape(padded, {0, 0, -1}), 2, 0, (taps_ - 1) * dilation_ + 1);
  }

  Expansion& x_;
  bool last_;
  int64_t dilation_, taps_ = 0;
};

Results expand_causal_conv(Expansion& x) { return CausalConv(x).run(); }

// ---- LinearAttention: queries and keys may each have fewer heads than the states, which have kv_num_heads

/// [B, length, heads * size] -> [B, length, states * size]: each head serves several states.
ValueId spread_heads(Expansion& x, size_t input, int64_t heads, int64_t states, const char* what) {
  if (states % heads != 0)
    x.fail(concat("kv_num_heads is ", states, ", it must be a multiple of the ", heads, " heads of the ", what));
  const ValueId split = x.unsqueeze(x.reshape(x.input(input), {0, 0, heads, -1}), 3);
  return x.reshape(x.concat(Results(static_cast<size_t>(states / heads), split), 3), {0, 0, -1});
}

enum LinearAttentionInput : size_t { kQuery, kKey };

/// The number of the key's heads, which are as large as those of the query: no attribute gives it. 0: not known.
int64_t key_heads(Expansion& x, int64_t query_heads) {
  const Shape &query = x.shape(kQuery), &key = x.shape(kKey);
  if (query.size() != 3 || key.size() != 3 || !query[2].is_constant() || !key[2].is_constant()) return 0;
  const int64_t size = query[2].constant() / query_heads, width = key[2].constant();
  if (size == 0 || width % size != 0)
    x.fail(concat("the key's last axis has extent ", width, ", it must be a multiple of ", size,
                  ", the size of the query's heads"));
  return width / size;
}

Results expand_linear_attention(Expansion& x) {
  const int64_t query_heads = x.node().int_attribute("q_num_heads", 0),
                states = x.node().int_attribute("kv_num_heads", 0);
  auto attributes = x.attributes({"kv_num_heads", "q_num_heads", "scale", "update_rule"});
  Results inputs;
  for (size_t i = 0; i < x.input_count(); ++i) inputs.push_back(x.input(i));
  if (query_heads > 0 && states > 0) {
    if (const int64_t heads = key_heads(x, query_heads); heads > 0 && heads < states)
      inputs[kKey] = spread_heads(x, kKey, heads, states, "key");
    if (query_heads < states) {
      inputs[kQuery] = spread_heads(x, kQuery, query_heads, states, "query");
      attributes["q_num_heads"] = states;
    }
  }
  return x.outputs(op("LinearAttention"), inputs, 2, attributes);
}

// ---- LinearAttentionGate: decay = scale * softplus(a + bias), beta = sigmoid(b)

Results expand_gate(Expansion& x) {
  enum : size_t { kDecay, kBias, kScale, kBeta };
  const ValueId a = x.cast(x.input(kDecay), DType::f32);
  const ValueId decay = x.multiply(x.node("Softplus", {x.add(a, x.input(kBias))}), x.input(kScale));
  if (x.has_output(1) && !x.has_input(kBeta)) x.fail("output 1 (beta) needs input 3");
  return {x.cast(decay, x.dtype(kDecay)), x.has_output(1) ? x.node("Sigmoid", {x.input(kBeta)}) : ValueId()};
}

// ---- GatedRMSNorm: each group of the last axis is normalised, then multiplied by the activated gate

Results expand_gated_norm(Expansion& x) {
  enum : size_t { kInput, kScale, kGate };
  const std::string activation = x.node().string_attribute("activation", "silu");
  if (activation != "silu" && activation != "swish" && activation != "sigmoid")
    x.fail(concat("attribute activation is '", activation, "', it must be 'silu', 'swish' or 'sigmoid'"));
  std::vector<int64_t> shape(static_cast<size_t>(x.rank(kInput)), 0);
  shape.back() = -1;
  std::vector<int64_t> grouped = shape;
  grouped.push_back(x.extent(kScale, 0));
  const ValueId gate = x.reshape(x.input(kGate), grouped), open = x.node("Sigmoid", {gate});
  const ValueId y = x.node("RMSNormalization", {x.reshape(x.input(kInput), grouped), x.input(kScale)},
                           {{"axis", int64_t{-1}}, {"epsilon", x.node().float_attribute("epsilon", 1e-6)}});
  return {x.reshape(x.multiply(y, activation == "sigmoid" ? open : x.multiply(gate, open)), shape)};
}

}  // namespace

constinit const ExpandedOp op_microsoft_CausalConvWithState =
    microsoft("CausalConvWithState", 2, 4, {Types::floats, Types::as_first}, expand_causal_conv, 2);
constinit const ExpandedOp op_microsoft_LinearAttention = giving(
    {Types::as_first, Types::floats}, microsoft("LinearAttention", 3, 6, {Types::floats}, expand_linear_attention, 2));
constinit const ExpandedOp op_microsoft_LinearAttentionGate =
    microsoft("LinearAttentionGate", 3, 4, {Types::floats, Types::f32, Types::f32, Types::as_first}, expand_gate, 2);
constinit const ExpandedOp op_microsoft_GatedRMSNorm =
    microsoft("GatedRMSNorm", 3, 3, {Types::floats, Types::as_first}, expand_gated_norm);

}  // namespace gcg
