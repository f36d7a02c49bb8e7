// LinearAttention: attention without a softmax; one matrix per head keeps the past. expand_linear_attention rewrites it
// as a Loop over the steps.
#include "compiler/ops/linear_attention.h"

#include <cmath>

#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

using Params = LinearAttentionParams;

/// The head size in an input of shape [B, T, heads * size].
Dim head_size(InferContext& ctx, int i, int64_t heads) {
  if (ctx.rank(i) != 3) ctx.fail(concat("input ", i, " must have 3 dimensions"));
  const Dim size = floor_div(ctx.shape(i)[2], heads);
  ctx.require_equal(size * heads, ctx.shape(i)[2], concat("heads of input ", i));
  for (size_t d = 0; d < 2; ++d) ctx.require_equal(ctx.shape(i)[d], ctx.shape(0)[d], "batch and steps of the inputs");
  return size;
}

void infer_linear_attention(InferContext& ctx) {
  const Params params(ctx.node());
  const Dim key = head_size(ctx, Params::kQuery, params.query_heads),
            value = head_size(ctx, Params::kValue, params.heads);
  ctx.require_equal(key, head_size(ctx, Params::kKey, params.heads), "sizes of the heads of query and key");
  const Shape &query = ctx.shape(Params::kQuery), state = {query[0], params.heads, key, value};
  if (params.decays && !(head_size(ctx, Params::kDecay, params.heads).is(1)))
    ctx.require_equal(ctx.shape(Params::kDecay)[2], key * params.heads, "decay per head or per element of a key");
  if (params.corrects && !ctx.shape(Params::kBeta).back().is(1)) {
    head_size(ctx, Params::kBeta, params.heads);
    ctx.require_equal(ctx.shape(Params::kBeta).back(), params.heads, "beta per head");
  }
  DType state_dtype = ctx.dtype(Params::kQuery);
  if (ctx.has_input(Params::kPast)) {
    state_dtype = ctx.dtype(Params::kPast);
    if (ctx.rank(Params::kPast) != 4) ctx.fail("past_state must have 4 dimensions");
    for (size_t d = 0; d < 4; ++d)
      ctx.require_equal(ctx.shape(Params::kPast)[d], state[d], concat("past_state at dimension ", d));
  }
  ctx.set_output(0, ctx.dtype(Params::kQuery), {query[0], query[1], value * params.query_heads});
  ctx.set_output(1, state_dtype, state);
}

std::vector<Tensor> reference_linear_attention(ReferenceContext& ctx) {
  const Params params(ctx.node());
  const auto optional = [&](int i) { return i < ctx.input_count() ? ctx.input(i) : nullptr; };
  const Tensor &q = *ctx.input(Params::kQuery), &k = *ctx.input(Params::kKey), &v = *ctx.input(Params::kValue);
  const Tensor *past = optional(Params::kPast), *decay = optional(Params::kDecay), *beta = optional(Params::kBeta);
  const int64_t batch = q.shape()[0], steps = q.shape()[1], keys = q.shape()[2] / params.query_heads,
                values = v.shape()[2] / params.heads, shared = params.query_heads / params.heads;
  const double scale = params.scale != 0 ? params.scale : 1 / std::sqrt(static_cast<double>(keys));
  Tensor y(q.dtype(), {batch, steps, params.query_heads * values});
  Tensor present(past != nullptr ? past->dtype() : q.dtype(), {batch, params.heads, keys, values});
  std::vector<double> state(static_cast<size_t>(keys * values));
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < params.heads; ++h) {
      const int64_t base = (b * params.heads + h) * keys * values;
      const auto s = [&](int64_t i, int64_t j) -> double& { return state[static_cast<size_t>(i * values + j)]; };
      for (int64_t i = 0; i < keys * values; ++i)
        state[static_cast<size_t>(i)] = past != nullptr ? past->at_double(base + i) : 0;
      for (int64_t t = 0; t < steps; ++t) {
        const int64_t row = b * steps + t;
        const auto at = [&](const Tensor& x, int64_t head, int64_t of, int64_t i) {  // from [B, T, heads * size]
          return x.at_double(row * x.shape()[2] + (x.shape()[2] == 1 ? 0 : head * of + i));
        };
        if (params.decays)
          for (int64_t i = 0; i < keys; ++i) {
            const bool per_head = decay->shape()[2] == params.heads;
            const double factor = std::exp(per_head ? at(*decay, h, 1, 0) : at(*decay, h, keys, i));
            for (int64_t j = 0; j < values; ++j) s(i, j) *= factor;
          }
        for (int64_t j = 0; j < values; ++j) {
          double value = at(v, h, values, j);
          if (params.corrects) {
            for (int64_t i = 0; i < keys; ++i) value -= s(i, j) * at(k, h, keys, i);
            value *= at(*beta, h, 1, 0);
          }
          for (int64_t i = 0; i < keys; ++i) s(i, j) += at(k, h, keys, i) * value;
        }
        for (int64_t head = h * shared; head < (h + 1) * shared; ++head)
          for (int64_t j = 0; j < values; ++j) {
            double sum = 0;
            for (int64_t i = 0; i < keys; ++i) sum += at(q, head, keys, i) * s(i, j);
            y.set_double((row * params.query_heads + head) * values + j, scale * sum);
          }
      }
      for (int64_t i = 0; i < keys * values; ++i) present.set_double(base + i, state[static_cast<size_t>(i)]);
    }
  std::vector<Tensor> out = {std::move(y)};
  if (ctx.output_count() > 1) out.push_back(std::move(present));
  return out;
}

}  // namespace

LinearAttentionParams::LinearAttentionParams(const Node& node)
    : query_heads(node.int_attribute("q_num_heads", 0)),
      heads(node.int_attribute("kv_num_heads", 0)),
      scale(node.float_attribute("scale", 0)) {
  const std::string rule = node.string_attribute("update_rule", "gated_delta");
  decays = rule == "gated" || rule == "gated_delta";
  corrects = rule == "delta" || rule == "gated_delta";
  if (!decays && !corrects && rule != "linear")
    fail_node(node,
              concat("attribute update_rule is '", rule, "', it must be 'linear', 'gated', 'delta' or 'gated_delta'"));
  if (query_heads < 1 || heads < 1 || query_heads % heads != 0)
    fail_node(node,
              concat("q_num_heads is ", query_heads, ", it must be a multiple of kv_num_heads, which is ", heads));
  const auto is_present = [&](size_t i) { return i < node.inputs.size() && node.inputs[i].valid(); };
  if (is_present(kDecay) != decays)
    fail_node(node, concat("update_rule '", rule, decays ? "' needs" : "' forbids", " decay (input 4)"));
  if (is_present(kBeta) != corrects)
    fail_node(node, concat("update_rule '", rule, corrects ? "' needs" : "' forbids", " beta (input 5)"));
}

constinit const OpDef op_LinearAttention{.name = "LinearAttention",
                                         .since = 27,
                                         .min_inputs = 3,
                                         .max_inputs = 6,
                                         .min_outputs = 1,
                                         .max_outputs = 2,
                                         .types = {Types::floats},
                                         .results = {Types::as_first, Types::floats},
                                         .kind = OpKind::opaque,
                                         .infer = infer_linear_attention,
                                         .reference = reference_linear_attention};

}  // namespace gcg
