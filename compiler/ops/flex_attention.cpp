// FlexAttention, of the preview domain. expand_flex_attention rewrites it as products, a softmax and its subgraphs'
// nodes.
#include "compiler/ops/flex_attention.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/control_types.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

enum : int { kQ, kK, kV };

void infer_flex_attention(InferContext& ctx) {
  for (int i : {kQ, kK, kV}) {
    if (!ctx.input(i).shape) return;
    if (ctx.rank(i) != 4) ctx.fail(concat("input ", i, " has ", ctx.rank(i), " dimensions, it must have 4"));
    ctx.require_equal(ctx.shape(i)[0], ctx.shape(kQ)[0], "the batches of Q, K and V");
  }
  const Shape &q = ctx.shape(kQ), &k = ctx.shape(kK), &v = ctx.shape(kV);
  ctx.require_equal(k[3], q[3], "head sizes of Q and K");
  ctx.require_equal(v[1], k[1], "heads of K and V");
  ctx.require_equal(v[2], k[2], "lengths of K and V");
  if (!q[1].is_constant() || !k[1].is_constant()) ctx.fail("the numbers of heads must be known");
  if (k[1].constant() < 1 || q[1].constant() % k[1].constant() != 0)
    ctx.fail(concat("the ", q[1].str(), " heads of Q are not a multiple of the ", k[1].str(), " heads of K"));
  const FlexAttentionParams params(ctx.node(), ctx.dtype(kQ));
  for (int body : {params.scores, params.probabilities}) {
    if (body < 0) continue;
    std::vector<Value> types = {value_type(params.dtype, Shape{q[0], q[1], q[2], k[2]})};
    for (Value& capture : capture_types(ctx)) types.push_back(std::move(capture));
    ctx.infer_body(body, types);
  }
  ctx.set_output(0, ctx.dtype(kV), {q[0], q[1], q[2], v[3]});
}

/// Applies subgraph `body` to a tensor; without one, returns the tensor itself.
Tensor changed(ReferenceContext& ctx, int body, Tensor x) {
  if (body < 0) return x;
  std::vector<Tensor> inputs = {std::move(x)};
  for (Tensor& capture : capture_tensors(ctx)) inputs.push_back(std::move(capture));
  return ctx.run_body(body, std::move(inputs)).at(0);
}

void softmax_rows(Tensor& x) {
  const int64_t columns = x.shape().back();
  for (int64_t row = 0; columns > 0 && row < x.elements() / columns; ++row) {
    const auto at = [&](int64_t i) { return x.at_double(row * columns + i); };
    double most = at(0), sum = 0;
    for (int64_t i = 1; i < columns; ++i) most = std::max(most, at(i));
    for (int64_t i = 0; i < columns; ++i) sum += std::exp(at(i) - most);
    for (int64_t i = 0; i < columns; ++i) x.set_double(row * columns + i, std::exp(at(i) - most) / sum);
  }
}

std::vector<Tensor> reference_flex_attention(ReferenceContext& ctx) {
  const Tensor &q = *ctx.input(kQ), &k = *ctx.input(kK), &v = *ctx.input(kV);
  const FlexAttentionParams params(ctx.node(), q.dtype());
  const int64_t batch = q.shape()[0], heads = q.shape()[1], rows = q.shape()[2], size = q.shape()[3],
                shared = k.shape()[1], columns = k.shape()[2], out = v.shape()[3];
  const double scale = params.scale != 0 ? params.scale : 1 / std::sqrt(static_cast<double>(size));
  const auto key = [&](int64_t n) {
    return n / heads * shared + n % heads / (heads / shared);
  };  // n: batch * heads + head
  Tensor p(params.dtype, {batch, heads, rows, columns});
  for (int64_t n = 0; n < batch * heads; ++n)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t e = 0; e < size; ++e)
          sum += q.at_double((n * rows + i) * size + e) * k.at_double((key(n) * columns + j) * size + e);
        p.set_double((n * rows + i) * columns + j, scale * sum);
      }
  p = changed(ctx, params.scores, std::move(p));
  softmax_rows(p);
  p = changed(ctx, params.probabilities, std::move(p));
  Tensor y(v.dtype(), {batch, heads, rows, out});
  for (int64_t n = 0; n < batch * heads; ++n)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t e = 0; e < out; ++e) {
        double sum = 0;
        for (int64_t j = 0; j < columns; ++j)
          sum += p.at_double((n * rows + i) * columns + j) * v.at_double((key(n) * columns + j) * out + e);
        y.set_double((n * rows + i) * out + e, sum);
      }
  return {std::move(y)};
}

}  // namespace

FlexAttentionParams::FlexAttentionParams(const Node& node, DType query) : scale(node.float_attribute("scale", 0)) {
  const std::vector<std::string> bodies = node.strings_attribute("gart.bodies");
  const auto number = [&](const char* name) {
    const auto found = std::find(bodies.begin(), bodies.end(), name);
    return found == bodies.end() ? -1 : static_cast<int>(found - bodies.begin());
  };
  scores = number("score_mod");
  probabilities = number("prob_mod");
  dtype = query == DType::f64 ? DType::f64 : DType::f32;
  if (node.has_attribute("softmax_precision")) {
    const auto type = dtype_from_onnx(static_cast<int>(node.int_attribute("softmax_precision", 1)));
    if (!type || !is_float(*type)) fail_node(node, "softmax_precision must name a float type");
    dtype = *type;
  }
}

const OpDef op_FlexAttention{.name = "FlexAttention",
                             .domain = "ai.onnx.preview",
                             .since = 1,
                             .min_inputs = 3,
                             .max_inputs = 3,
                             .types = {Types::floats},
                             .results = {Types::as_third},
                             .kind = OpKind::control,
                             .allows_unknown_rank = true,
                             .infer = infer_flex_attention,
                             .reference = reference_flex_attention};

}  // namespace gcg
