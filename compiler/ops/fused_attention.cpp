// gart.Attention: a whole attention as one node and one kernel (compiler/passes/fuse_attention.h).
#include "compiler/ops/fused_attention.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/control_types.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

constexpr int kQ = kFusedAttentionQ, kK = kFusedAttentionK, kV = kFusedAttentionV, kKept = kFusedAttentionKept;

void infer_fused_attention(InferContext& ctx) {
  const Shape &q = ctx.shape(kQ), &k = ctx.shape(kK), &v = ctx.shape(kV);
  for (int i : {kQ, kK, kV})
    if (ctx.rank(i) < 2 || ctx.dtype(i) != DType::f32) ctx.fail("Q, K and V must be matrices of f32");
  ctx.require_equal(q.back(), k[k.size() - 2], "the head sizes of Q and K");
  ctx.require_equal(k.back(), v[v.size() - 2], "the lengths of K and V");
  Shape scores = ctx.broadcast(Shape(q.begin(), q.end() - 2), Shape(k.begin(), k.end() - 2));
  scores.insert(scores.end(), {q[q.size() - 2], k.back()});
  std::vector<Value> types = {value_type(DType::f32, scores)};
  for (Value& capture : capture_types(ctx)) types.push_back(std::move(capture));
  const Value changed = ctx.infer_body(0, types).at(0);
  if (changed.shape) ctx.require_equal(product(*changed.shape), product(scores), "the numbers of scores");
  scores.back() = v.back();
  ctx.set_output(0, DType::f32, scores);
}

/// a [..., m, k] times b [..., k, n]; their batches broadcast to `batch`.
Tensor batched_product(const Tensor& a, const Tensor& b, std::vector<int64_t> batch) {
  const auto leading = [](const Tensor& t) { return std::vector<int64_t>(t.shape().begin(), t.shape().end() - 2); };
  const std::vector<int64_t> a_at = broadcast_offsets(leading(a), batch), b_at = broadcast_offsets(leading(b), batch);
  const int64_t m = a.shape()[a.shape().size() - 2], k = a.shape().back(), n = b.shape().back();
  batch.insert(batch.end(), {m, n});
  Tensor y(DType::f32, batch);
  for (int64_t o = 0; o < y.elements(); ++o) {
    const auto matrix = static_cast<size_t>(o / (m * n));
    double sum = 0;
    for (int64_t x = 0; x < k; ++x)
      sum += a.at_double((a_at[matrix] * m + o / n % m) * k + x) * b.at_double((b_at[matrix] * k + x) * n + o % n);
    y.set_double(o, sum);
  }
  return y;
}

/// The softmax of each row. Rows that are not kept become zeros and, with `nan_to_zero`, so do NaNs.
Tensor weights_of(const Tensor& scores, const std::vector<int64_t>& shape, const Tensor* row_mask, bool nan_to_zero) {
  Tensor weights(DType::f32, shape);
  const std::vector<int64_t> kept_at =
      row_mask == nullptr ? std::vector<int64_t>() : broadcast_offsets(row_mask->shape(), scores.shape());
  const int64_t columns = shape.back();
  for (int64_t first = 0; first < scores.elements(); first += columns) {
    double most = scores.at_double(first), sum = 0;
    for (int64_t t = first; t < first + columns; ++t) most = std::max(most, scores.at_double(t));
    for (int64_t t = first; t < first + columns; ++t) sum += std::exp(scores.at_double(t) - most);
    for (int64_t t = first; t < first + columns; ++t) {
      const double weight = std::exp(scores.at_double(t) - most) / sum;
      const bool dropped = row_mask != nullptr && row_mask->at_int(kept_at[static_cast<size_t>(t)]) == 0;
      weights.set_double(t, dropped || (nan_to_zero && std::isnan(weight)) ? 0 : weight);
    }
  }
  return weights;
}

std::vector<Tensor> reference_fused_attention(ReferenceContext& ctx) {
  const Tensor &q = *ctx.input(kQ), &k = *ctx.input(kK), &v = *ctx.input(kV);
  const size_t rank = std::max(q.shape().size(), k.shape().size());
  std::vector<int64_t> batch(rank - 2, 1);
  for (const Tensor* t : {&q, &k})
    for (size_t d = 0; d + 2 < t->shape().size(); ++d)
      if (t->shape()[d] != 1) batch[rank - t->shape().size() + d] = t->shape()[d];
  Tensor scores = batched_product(q, k, batch);
  const std::vector<int64_t> shape = scores.shape();
  std::vector<Tensor> inputs = {std::move(scores)};
  for (Tensor& capture : capture_tensors(ctx)) inputs.push_back(std::move(capture));
  const Tensor changed = ctx.run_body(0, std::move(inputs)).at(0);
  const bool nan_to_zero = ctx.node().int_attribute(kNanToZeroAttribute, 0) != 0;
  return {batched_product(weights_of(changed, shape, ctx.input(kKept), nan_to_zero), v, batch)};
}

}  // namespace

const OpDef op_gart_Attention = {.name = "Attention",
                                 .domain = "gart",
                                 .min_inputs = 4,
                                 .max_inputs = 4,
                                 .kind = OpKind::contraction,
                                 .infer = infer_fused_attention,
                                 .reference = reference_fused_attention};

}  // namespace gcg
