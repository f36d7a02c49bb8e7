// gart.QuantizedMatMul: multiplies a[..., K] by low-bit integer weights q[N, K] of i2, i4 or i8. Each block of a row of
// q has a scale and optionally an offset, [N, ceil(K / block)]: y[..., n] = sum over k of a[..., k] * (q[n, k] *
// scales[n, k / block] - offsets[n, k / block]), in f32. With transposed=1 it multiplies a[..., N] by the same matrix:
// y[..., k] = sum over n. The gradient of the first product is the second one.
//
// gart.UnpackWeights: the rows n of that matrix from `first` on, f32[count, K], from the words and panels of
// BlockPacking.
#include "compiler/kernel/packing.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

enum : int { kA, kWeights, kScales, kOffsets };

bool is_transposed(const Node& node) { return node.int_attribute("transposed", 0) != 0; }

void infer_quantized_matmul(InferContext& ctx) {
  const int64_t block = ctx.node().int_attribute("block", 0);
  if (ctx.rank(kA) < 1 || ctx.rank(kWeights) != 2 || block < 1)
    ctx.fail("expected an operand with at least one dimension, a matrix, and blocks of at least one element");
  const Shape& q = ctx.shape(kWeights);
  const bool transposed = is_transposed(ctx.node());
  ctx.require_equal(ctx.shape(kA).back(), q[transposed ? 0 : 1], "the inner extents");
  for (int i = kScales; i < ctx.input_count(); ++i)
    if (const Shape expected = {q[0], ceil_div(q[1], block)}; ctx.shape(i) != expected)
      ctx.fail(concat("input ", i, " must be ", str(expected), ", one number per block of ", block, " elements"));
  Shape shape = ctx.shape(kA);
  shape.back() = q[transposed ? 1 : 0];
  ctx.set_output(0, DType::f32, shape);
}

Expr lower_quantized_matmul(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const bool transposed = is_transposed(ctx.node());
  const Axis summed = ctx.fresh_axis(ctx.input_shape(kWeights)[transposed ? 0 : 1]);
  std::vector<Expr> a = at;
  a.back() = axis_ref(summed);
  const Expr n = transposed ? axis_ref(summed) : at.back(), k = transposed ? at.back() : axis_ref(summed);
  const std::vector<Expr> block = {n, binary(BinaryOp::floor_div, k, index(ctx.node().int_attribute("block", 0)))};
  Expr w = cast(DType::f32, ctx.input(kWeights, {n, k})) * ctx.input(kScales, block);
  if (ctx.has_input(kOffsets)) w = w - ctx.input(kOffsets, block);
  return reduce(ReduceOp::sum, {summed}, ctx.input(kA, a) * w);
}

std::vector<Tensor> reference_quantized_matmul(ReferenceContext& ctx) {
  const Tensor &a = *ctx.input(kA), &q = *ctx.input(kWeights), &scales = *ctx.input(kScales);
  const Tensor* offsets = ctx.input_count() > kOffsets ? ctx.input(kOffsets) : nullptr;
  const int64_t n = q.shape()[0], k = q.shape()[1], blocks = scales.shape()[1],
                block = ctx.node().int_attribute("block", 0);
  const auto weight = [&](int64_t column, int64_t row) {
    const int64_t of = column * blocks + row / block;
    return q.at_double(column * k + row) * scales.at_double(of) - (offsets ? offsets->at_double(of) : 0);
  };
  const bool transposed = is_transposed(ctx.node());
  const int64_t results = transposed ? k : n, summed = transposed ? n : k;
  std::vector<int64_t> shape = a.shape();
  shape.back() = results;
  Tensor y(DType::f32, shape);
  for (int64_t o = 0; o < y.elements(); ++o) {
    const int64_t row = o / results, result = o % results;
    double sum = 0;
    for (int64_t i = 0; i < summed; ++i)
      sum += a.at_double(row * summed + i) * (transposed ? weight(i, result) : weight(result, i));
    y.set_double(o, sum);
  }
  return {y};
}

// ---- gart.UnpackWeights

enum : int { kWords, kPanelScales, kPanelOffsets };

BlockPacking packing_of(const Node& node) {
  return {.rows = node.int_attribute("k", 0),
          .bits = node.int_attribute("bits", 4),
          .block = node.int_attribute("block", 0),
          .offsets = node.inputs.size() > kPanelOffsets};
}

void infer_unpack_weights(InferContext& ctx) {
  const BlockPacking packing = packing_of(ctx.node());
  const int64_t first = ctx.node().int_attribute("first", 0), count = ctx.node().int_attribute("count", 0);
  const Shape words = {ceil_div(Dim(first + count), kPanelColumns), Dim(packing.words()), Dim(kPanelColumns)};
  const Shape& words_shape = ctx.shape(kWords);
  if (first < 0 || count < 0 || words_shape.size() != 3 || words_shape[1] != words[1] || words_shape[2] != words[2] ||
      !words_shape[0].is_constant() || words_shape[0].constant() < words[0].constant())
    ctx.fail(concat("the words must be ", str(words), " or more panels"));
  ctx.set_output(0, DType::f32, {Dim(count), Dim(packing.rows)});
}

Expr lower_unpack_weights(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const BlockPacking packing = packing_of(ctx.node());
  const auto over = [](const Expr& a, int64_t b) { return binary(BinaryOp::floor_div, a, index(b)); };
  const auto modulo = [](const Expr& a, int64_t b) { return binary(BinaryOp::mod, a, index(b)); };
  const auto word = [](uint32_t value) { return constant_int(DType::u32, static_cast<int64_t>(value)); };
  const Expr column = at[0] + index(ctx.node().int_attribute("first", 0)), row = at[1];
  const Expr panel = over(column, kPanelColumns), lane = modulo(column, kPanelColumns);
  const Expr words = cast(DType::u32, ctx.input(kWords, {panel, over(row, packing.per_word()), lane}));
  const Expr amount = cast(DType::u32, modulo(row, packing.per_word()) * index(packing.bits));
  const uint32_t half = uint32_t{1} << (packing.bits - 1);
  const Expr bits = binary(BinaryOp::bit_and, binary(BinaryOp::shift_right, words, amount), word(2 * half - 1));
  // (q ^ half) - half extends the sign.
  const Expr q = cast(DType::i32, binary(BinaryOp::bit_xor, bits, word(half))) -
                 constant_int(DType::i32, static_cast<int64_t>(half));
  const std::vector<Expr> block = {panel, over(row, packing.block), lane};
  const Expr w = cast(DType::f32, q) * ctx.input(kPanelScales, block);
  return packing.offsets ? w - ctx.input(kPanelOffsets, block) : w;
}

std::vector<Tensor> reference_unpack_weights(ReferenceContext& ctx) {
  const BlockPacking packing = packing_of(ctx.node());
  const int64_t first = ctx.node().int_attribute("first", 0), count = ctx.node().int_attribute("count", 0);
  const int64_t mask = (int64_t{1} << packing.bits) - 1, half = (mask + 1) / 2;
  Tensor y(DType::f32, {count, packing.rows});
  for (int64_t i = 0; i < y.elements(); ++i) {
    const int64_t column = first + i / packing.rows, row = i % packing.rows;
    const auto place = [&](int64_t lines, int64_t line) {
      return (column / kPanelColumns * lines + line) * kPanelColumns + column % kPanelColumns;
    };
    const int64_t word = ctx.input(kWords)->at_int(place(packing.words(), row / packing.per_word()));
    const int64_t q = ((word >> (row % packing.per_word() * packing.bits) & mask) ^ half) - half;
    const int64_t block = place(packing.blocks(), row / packing.block);
    const double offset = packing.offsets ? ctx.input(kPanelOffsets)->at_double(block) : 0;
    y.set_double(i, static_cast<double>(q) * ctx.input(kPanelScales)->at_double(block) - offset);
  }
  return {std::move(y)};
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
const OpDef op_gart_UnpackWeights = {.name = "UnpackWeights",
                                     .domain = "gart",
                                     .min_inputs = 2,
                                     .max_inputs = 3,
                                     .kind = OpKind::pointwise,
                                     .infer = infer_unpack_weights,
                                     .lower = lower_unpack_weights,
                                     .reference = reference_unpack_weights};

}  // namespace gcg
