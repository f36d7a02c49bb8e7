// Attention and RotaryEmbedding. expand_attention rewrites both as plain operators; this file has their types and
// references.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ops/attention_params.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ---- RotaryEmbedding

void infer_rotary_embedding(InferContext& ctx) {
  if (ctx.rank(0) != 3 && ctx.rank(0) != 4) ctx.fail(concat("the input has ", ctx.rank(0), " dimensions, not 3 or 4"));
  const int64_t heads = ctx.node().int_attribute("num_heads", 0);
  if (ctx.rank(0) == 3 && heads < 1) ctx.fail(concat("a 3-D input needs num_heads to be at least 1, it is ", heads));
  const int64_t cache_rank = ctx.has_input(3) ? 2 : 3;
  for (int i : {1, 2})
    if (ctx.rank(i) != cache_rank) ctx.fail(concat("input ", i, " must have ", cache_rank, " dimensions here"));
  const Dim head = ctx.rank(0) == 4 ? ctx.shape(0)[3] : floor_div(ctx.shape(0)[2], heads);
  const int64_t partial = ctx.node().int_attribute("rotary_embedding_dim", 0);
  if (partial < 0 || partial % 2 != 0) ctx.fail(concat("rotary_embedding_dim is ", partial, ", it must be even"));
  if (partial == 0 && head.is_constant() && head.constant() % 2 != 0)
    ctx.fail(concat("the head size ", head.str(), " is odd"));
  if (head.is_constant() && partial > head.constant())
    ctx.fail(concat("rotary_embedding_dim ", partial, " is above the head size ", head.str()));
  for (int i : {1, 2})
    ctx.require_equal(ctx.shape(i).back(), partial ? Dim(partial / 2) : floor_div(head, 2), "cos and sin caches");
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
}

/// [batch, heads, sequence, head size], for either layout of a tensor.
struct Heads {
  const Tensor& x;
  int64_t batch, heads, sequence, size;

  Heads(const Tensor& tensor, int64_t head_count) : x(tensor) {
    const std::vector<int64_t>& s = x.shape();
    batch = s[0];
    heads = s.size() == 4 ? s[1] : head_count;
    sequence = s.size() == 4 ? s[2] : s[1];
    size = s.size() == 4 ? s[3] : s[2] / heads;
  }
  int64_t at(int64_t b, int64_t h, int64_t s, int64_t i) const {
    return x.rank() == 4 ? ((b * heads + h) * sequence + s) * size + i : ((b * sequence + s) * heads + h) * size + i;
  }
};

std::vector<Tensor> reference_rotary_embedding(ReferenceContext& ctx) {
  const Node& node = ctx.node();
  const Heads x(*ctx.input(0), node.int_attribute("num_heads", 0));
  const Tensor &cosine = *ctx.input(1), &sine = *ctx.input(2), *ids = ctx.input(3);
  const int64_t partial = node.int_attribute("rotary_embedding_dim", 0), half = (partial ? partial : x.size) / 2;
  const bool interleaved = node.int_attribute("interleaved", 0) != 0;
  Tensor y(x.x.dtype(), x.x.shape());
  for_each_index({x.batch, x.heads, x.sequence, x.size}, [&](const std::vector<int64_t>& at) {
    const int64_t b = at[0], h = at[1], s = at[2], i = at[3], row = b * x.sequence + s;
    const int64_t to = x.at(b, h, s, i);
    if (i >= 2 * half) return y.set_double(to, x.x.at_double(to));
    const bool second = interleaved ? i % 2 != 0 : i >= half;
    const int64_t j = interleaved ? i / 2 : i % half, cached = (ids ? ids->at_int(row) : row) * half + j;
    const int64_t partner = interleaved ? i ^ 1 : (i + half) % (2 * half);
    const double turned = x.x.at_double(x.at(b, h, s, partner)) * sine.at_double(cached);
    y.set_double(to, x.x.at_double(to) * cosine.at_double(cached) + (second ? turned : -turned));
  });
  return {std::move(y)};
}

// ---- Attention

void infer_attention(InferContext& ctx) {
  if (ctx.has_input(kAttentionPastKey) != ctx.has_input(kAttentionPastValue))
    ctx.fail("past_key and past_value must be given together");
  const bool has_past = ctx.has_input(kAttentionPastKey);
  if (has_past && ctx.has_input(kAttentionValidKeys)) ctx.fail("nonpad_kv_seqlen and past_key exclude each other");
  const AttentionParams params =
      attention_params(ctx.node(), ctx.shape(kAttentionQ), ctx.shape(kAttentionK), ctx.shape(kAttentionV),
                       has_past ? &ctx.shape(kAttentionPastKey) : nullptr);
  ctx.require_equal(ctx.shape(kAttentionK)[0], params.batch, "the batch of K");
  ctx.require_equal(ctx.shape(kAttentionV)[0], params.batch, "the batch of V");
  if (ctx.has_input(kAttentionMask) && ctx.dtype(kAttentionMask) != DType::boolean)
    require_dtype(ctx, kAttentionMask, Types::floats);
  const Dim hidden = params.query_heads * params.value_head;
  ctx.set_output(0, ctx.dtype(0),
                 params.packed_heads ? Shape{params.batch, params.queries, hidden}
                                     : Shape{params.batch, params.query_heads, params.queries, params.value_head});
  ctx.set_output(1, ctx.dtype(1), {params.batch, params.key_heads, params.keys, params.head});
  ctx.set_output(2, ctx.dtype(2), {params.batch, params.key_heads, params.keys, params.value_head});
  ctx.set_output(3, ctx.dtype(0), {params.batch, params.query_heads, params.queries, params.keys});
}

/// [B, G, T, size]: the past rows, followed by the new ones.
Tensor present(const Heads& x, const Tensor* past) {
  const int64_t before = past ? past->shape()[2] : 0, length = before + x.sequence;
  Tensor all(x.x.dtype(), {x.batch, x.heads, length, x.size});
  for_each_index(all.shape(), [&, i = int64_t{0}](const std::vector<int64_t>& at) mutable {
    const int64_t b = at[0], h = at[1], t = at[2], e = at[3];
    all.set_double(i++, t < before ? past->at_double(((b * x.heads + h) * before + t) * x.size + e)
                                   : x.x.at_double(x.at(b, h, t - before, e)));
  });
  return all;
}

class AttentionReference {
 public:
  explicit AttentionReference(ReferenceContext& ctx)
      : ctx_(ctx),
        params_(form_of(ctx)),
        q_(*ctx.input(0), ctx.node().int_attribute("q_num_heads", 0)),
        key_(present(Heads(*ctx.input(1), ctx.node().int_attribute("kv_num_heads", 0)), ctx.input(4))),
        value_(present(Heads(*ctx.input(2), ctx.node().int_attribute("kv_num_heads", 0)), ctx.input(5))),
        mask_(ctx.input(3)),
        valid_(ctx.input(6)),
        past_(ctx.input(4) ? ctx.input(4)->shape()[2] : 0) {
    keys_ = key_.shape()[2];
    value_size_ = value_.shape()[3];
    share_ = q_.heads / std::max<int64_t>(key_.shape()[1], 1);
    if (mask_) {
      std::vector<int64_t> full = {q_.batch, q_.heads, q_.sequence, keys_};
      if (mask_->shape().back() != 1) full[3] = mask_->shape().back();
      mask_keys_ = full[3];
      mask_at_ = broadcast_offsets(mask_->shape(), full);
    }
  }

  std::vector<Tensor> run() {
    const bool packed = q_.x.rank() == 3;
    Tensor y(q_.x.dtype(), packed ? std::vector<int64_t>{q_.batch, q_.sequence, q_.heads * value_size_}
                                  : std::vector<int64_t>{q_.batch, q_.heads, q_.sequence, value_size_});
    Tensor scores(q_.x.dtype(), {q_.batch, q_.heads, q_.sequence, keys_});
    for_each_index({q_.batch, q_.heads, q_.sequence}, [&, row = int64_t{0}](const std::vector<int64_t>& at) mutable {
      const std::vector<double> p = probabilities(at[0], at[1], at[2], scores, keys_ * row++);
      for (int64_t e = 0; e < value_size_; ++e) {
        double sum = 0;
        for (int64_t t = 0; t < keys_; ++t) {
          const double weight = p[static_cast<size_t>(t)];
          sum += weight * value_.at_double(((at[0] * key_.shape()[1] + at[1] / share_) * keys_ + t) * value_size_ + e);
        }
        const int64_t packed_at = ((at[0] * q_.sequence + at[2]) * q_.heads + at[1]) * value_size_ + e;
        y.set_double(packed ? packed_at : ((at[0] * q_.heads + at[1]) * q_.sequence + at[2]) * value_size_ + e, sum);
      }
    });
    std::vector<Tensor> outputs = {std::move(y), key_, value_, std::move(scores)};
    outputs.resize(static_cast<size_t>(ctx_.output_count()));
    return outputs;
  }

 private:
  static AttentionParams form_of(ReferenceContext& ctx) {
    const auto shape = [&](int i) { return to_shape(ctx.input(i)->shape()); };
    const Shape past = ctx.input(4) ? shape(4) : Shape();
    return attention_params(ctx.node(), shape(0), shape(1), shape(2), ctx.input(4) ? &past : nullptr);
  }

  double score(int64_t b, int64_t h, int64_t s, int64_t t) const {
    double sum = 0;
    for (int64_t d = 0; d < q_.size; ++d)
      sum += q_.x.at_double(q_.at(b, h, s, d)) *
             key_.at_double(((b * key_.shape()[1] + h / share_) * keys_ + t) * q_.size + d);
    return sum * params_.scale.value_or(1 / std::sqrt(static_cast<double>(q_.size)));
  }

  /// The bias of one score: 0, -infinity or the mask's own number.
  double bias(int64_t b, int64_t h, int64_t s, int64_t t) const {
    const int64_t here = s + (valid_ ? valid_->at_int(b) - q_.sequence : past_);
    if (params_.causal && t > here) return -kInfinity;
    if (params_.left_window >= 0 && here - t > params_.left_window) return -kInfinity;
    if (params_.right_window >= 0 && t - here > params_.right_window) return -kInfinity;
    if (valid_ && t >= valid_->at_int(b)) return -kInfinity;
    if (!mask_) return 0;
    if (t >= mask_keys_) return -kInfinity;
    const int64_t at = mask_at_[static_cast<size_t>(((b * q_.heads + h) * q_.sequence + s) * mask_keys_ + t)];
    if (mask_->dtype() == DType::boolean) return mask_->at_int(at) ? 0 : -kInfinity;
    return mask_->at_double(at);
  }

  /// One row of the softmax. Stores in `scores` the stage that qk_matmul_output_mode selects.
  std::vector<double> probabilities(int64_t b, int64_t h, int64_t s, Tensor& scores, int64_t at) const {
    std::vector<double> row;
    double most = -kInfinity, most_bias = -kInfinity, sum = 0;
    for (int64_t t = 0; t < keys_; ++t) {
      double x = score(b, h, s, t);
      if (params_.qk_output_mode == 0) scores.set_double(at + t, x);
      if (params_.softcap > 0) x = params_.softcap * std::tanh(x / params_.softcap);
      if (params_.qk_output_mode == 1) scores.set_double(at + t, x);
      const double added = bias(b, h, s, t);
      most_bias = std::max(most_bias, added);
      row.push_back(x + added);
      if (params_.qk_output_mode == 2) scores.set_double(at + t, row.back());
      most = std::max(most, row.back());
    }
    for (double& x : row) sum += x = std::exp(x - most);
    for (int64_t t = 0; t < keys_; ++t) {
      double& x = row[static_cast<size_t>(t)];
      x = most_bias == -kInfinity ? 0 : x / sum;
      if (params_.qk_output_mode == 3) scores.set_double(at + t, x);
    }
    return row;
  }

  ReferenceContext& ctx_;
  AttentionParams params_;
  Heads q_;
  Tensor key_, value_;
  const Tensor *mask_, *valid_;
  int64_t past_, keys_ = 0, value_size_ = 0, share_ = 1, mask_keys_ = 0;
  std::vector<int64_t> mask_at_;
};

std::vector<Tensor> reference_attention(ReferenceContext& ctx) { return AttentionReference(ctx).run(); }

}  // namespace

constinit const OpDef op_Attention{.name = "Attention",
                                   .since = 23,
                                   .min_inputs = 3,
                                   .max_inputs = 7,
                                   .max_outputs = 4,
                                   .types = {Types::floats, Types::as_first, Types::as_first, Types::any,
                                             Types::as_first, Types::as_first, Types::integers},
                                   .results = {Types::as_first, Types::as_second, Types::as_third, Types::as_first},
                                   .kind = OpKind::opaque,
                                   .infer = infer_attention,
                                   .reference = reference_attention};
constinit const OpDef op_RotaryEmbedding{.name = "RotaryEmbedding",
                                         .since = 23,
                                         .min_inputs = 3,
                                         .max_inputs = 4,
                                         .types = {Types::floats, Types::as_first, Types::as_first, Types::integers},
                                         .kind = OpKind::opaque,
                                         .infer = infer_rotary_embedding,
                                         .reference = reference_rotary_embedding};

}  // namespace gcg
