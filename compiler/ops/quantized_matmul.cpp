// gart.QuantizedMatMul: multiplies a[..., K] by low-bit integer weights q[N, K] of i2, i4 or i8. Each block of a row of
// q has a scale and optionally an offset, [N, ceil(K / block)]: y[..., n] = sum over k of a[..., k] * (q[n, k] *
// scales[n, k / block] - offsets[n, k / block]), in f32.
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

enum : int { kA, kWeights, kScales, kOffsets };

void infer_quantized_matmul(InferContext& ctx) {
  const int64_t block = ctx.node().int_attribute("block", 0);
  if (ctx.rank(kA) < 1 || ctx.rank(kWeights) != 2 || block < 1)
    ctx.fail("expected an operand with at least one dimension, a matrix, and blocks of at least one element");
  const Shape& q = ctx.shape(kWeights);
  ctx.require_equal(ctx.shape(kA).back(), q[1], "the inner extents");
  for (int i = kScales; i < ctx.input_count(); ++i)
    if (const Shape wanted = {q[0], ceil_div(q[1], block)}; ctx.shape(i) != wanted)
      ctx.fail(concat("input ", i, " must be ", str(wanted), ", one number per block of ", block, " elements"));
  Shape shape = ctx.shape(kA);
  shape.back() = q[0];
  ctx.set_output(0, DType::f32, shape);
}

Expr lower_quantized_matmul(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Axis k = ctx.fresh_axis(ctx.input_shape(kWeights)[1]);
  std::vector<Expr> a = at;
  a.back() = axis_ref(k);
  const std::vector<Expr> block = {
      at.back(), binary(BinaryOp::floor_div, axis_ref(k), index(ctx.node().int_attribute("block", 0)))};
  Expr w = cast(DType::f32, ctx.input(kWeights, {at.back(), axis_ref(k)})) * ctx.input(kScales, block);
  if (ctx.has_input(kOffsets)) w = w - ctx.input(kOffsets, block);
  return reduce(ReduceOp::sum, {k}, ctx.input(kA, a) * w);
}

std::vector<Tensor> reference_quantized_matmul(ReferenceContext& ctx) {
  const Tensor &a = *ctx.input(kA), &q = *ctx.input(kWeights), &scales = *ctx.input(kScales);
  const Tensor* offsets = ctx.input_count() > kOffsets ? ctx.input(kOffsets) : nullptr;
  const int64_t n = q.shape()[0], k = q.shape()[1], blocks = scales.shape()[1],
                block = ctx.node().int_attribute("block", 0);
  std::vector<int64_t> shape = a.shape();
  shape.back() = n;
  Tensor y(DType::f32, shape);
  for (int64_t o = 0; o < y.elements(); ++o) {
    const int64_t row = o / n, column = o % n;
    double sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      const int64_t of = column * blocks + i / block;
      const double w = q.at_double(column * k + i) * scales.at_double(of) - (offsets ? offsets->at_double(of) : 0);
      sum += a.at_double(row * k + i) * w;
    }
    y.set_double(o, sum);
  }
  return {y};
}

}  // namespace

const OpDef op_gart_QuantizedMatMul = {.name = "QuantizedMatMul",
                                       .domain = "gart",
                                       .min_inputs = 3,
                                       .max_inputs = 4,
                                       .kind = OpKind::contraction,
                                       .infer = infer_quantized_matmul,
                                       .lower = lower_quantized_matmul,
                                       .reference = reference_quantized_matmul};

}  // namespace gcg
