// QuantizeLinear and DequantizeLinear. Also DynamicQuantizeLinear, QLinearMatMul and QLinearConv, which are rewritten
// with those and with plain operators at import.
#include "compiler/ops/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ir/small_float.h"
#include "compiler/ops/broadcast.h"
#include "compiler/ops/index.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/small_types.h"
#include "compiler/ops/upgrade.h"

namespace gcg {
namespace {

enum : int { kX, kScale, kZero };

// ---- the scale of an element: there is one scale for all, one per index along an axis, or one per block along it

int64_t axis_of(const Node& node, int64_t rank) { return wrap_axis(node.int_attribute("axis", 1), rank); }

void check_scale(InferContext& ctx, int i) {
  const Shape &x = ctx.shape(kX), &s = ctx.shape(i);
  if (product(s).is(1)) return;
  const auto axis = static_cast<size_t>(ctx.axis(ctx.node().int_attribute("axis", 1), ctx.rank(kX)));
  const int64_t block = ctx.node().int_attribute("block_size", 0);
  if (block < 0) ctx.fail(concat("block_size is ", block, ", it must not be negative"));
  if (block == 0) {
    if (s.size() != 1) ctx.fail(concat("input ", i, " must be a scalar or a vector"));
    ctx.require_equal(s[0], x[axis], concat("input ", i, " and axis ", axis));
    return;
  }
  if (s.size() != x.size()) ctx.fail(concat("input ", i, " must have ", x.size(), " dimensions with block_size"));
  for (size_t d = 0; d < x.size(); ++d)
    ctx.require_equal(s[d], d == axis ? ceil_div(x[d], block) : x[d], concat("input ", i, " at dimension ", d));
}

Index scale_index(LowerContext& ctx, int i, const Index& at) {
  const Shape& s = ctx.input_shape(i);
  if (product(s).is(1)) return Index(s.size(), index(0));
  const auto axis = static_cast<size_t>(axis_of(ctx.node(), static_cast<int64_t>(at.size())));
  if (s.size() == 1 && at.size() != 1) return {at[axis]};
  const int64_t block = ctx.node().int_attribute("block_size", 0);
  Index where = at;
  if (block > 0) where[axis] = binary(BinaryOp::floor_div, at[axis], index(block));
  return where;
}

Expr zero_point(LowerContext& ctx, const Index& at) {
  return small_value(ctx.input_value(kZero).dtype, ctx.input(kZero, scale_index(ctx, kZero, at)));
}

int64_t scale_position(const Node& node, const Tensor& x, const Tensor& s, std::vector<int64_t> at) {
  if (s.elements() == 1) return 0;
  const auto axis = static_cast<size_t>(axis_of(node, x.rank()));
  const int64_t block = node.int_attribute("block_size", 0);
  if (block == 0) return at[axis];
  at[axis] /= block;
  int64_t p = 0;
  for (size_t d = 0; d < at.size(); ++d) p = p * s.shape()[d] + at[d];
  return p;
}

std::optional<DType> dtype_attribute(InferContext& ctx, const char* name) {
  const int64_t code = ctx.node().int_attribute(name, 0);
  if (code == 0) return std::nullopt;
  const auto dtype = dtype_from_onnx(static_cast<int32_t>(code));
  if (!dtype) ctx.fail(concat("element type ", code, " (attribute '", name, "') is not supported"));
  return dtype;
}

// ---- QuantizeLinear: saturate(round(x / scale) + zero_point); NaN becomes the lowest value

void infer_quantize(InferContext& ctx) {
  check_scale(ctx, kScale);
  const auto requested = dtype_attribute(ctx, "output_dtype");
  DType to = requested.value_or(DType::u8);
  if (ctx.has_input(kZero)) {
    to = ctx.dtype(kZero);
    check_scale(ctx, kZero);
    if (requested && *requested != to)
      ctx.fail(concat("output_dtype is ", name_of(*requested), ", the zero point is ", name_of(to)));
  }
  const bool narrow = (is_int(to) && size_of(to) <= 2) || storage_dtype(to) != to;
  if (!narrow) ctx.fail(concat("quantizing to ", name_of(to), " is not supported"));
  if (const auto precision = dtype_attribute(ctx, "precision"); precision && !is_float(*precision))
    ctx.fail(concat("precision is ", name_of(*precision), ", it must be a float type"));
  ctx.set_output(0, to, ctx.shape(kX));
}

struct Range {
  double low, high;
};
Range range_of(DType integer) {
  const int small = small_int_bits(integer), bits = small > 0 ? small : static_cast<int>(size_of(integer)) * 8;
  const bool is_signed = is_signed_int(storage_dtype(integer));
  return {is_signed ? -std::ldexp(1, bits - 1) : 0, std::ldexp(1, is_signed ? bits - 1 : bits) - 1};
}

/// The type that the quotient is rounded to first: x's type if the scale has the same type.
DType quotient_type(const Node& node, DType x, DType scale) {
  if (const int64_t code = node.int_attribute("precision", 0))
    return dtype_from_onnx(static_cast<int32_t>(code)).value_or(DType::f32);
  return x == scale && is_float(x) ? x : DType::f32;
}

Expr lower_quantize(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const DType type = quotient_type(ctx.node(), ctx.input_value(kX).dtype, ctx.input_value(kScale).dtype);
  const DType wide = arithmetic_dtype(type);
  const Expr x = cast(wide, ctx.input(kX, at)), scale = cast(wide, ctx.input(kScale, scale_index(ctx, kScale, at)));
  const Expr quotient = cast(wide, cast(type, binary(BinaryOp::div, x, scale)));
  const DType to = ctx.output_value(output).dtype;
  if (is_small_float(to)) return small_element(to, quotient, ctx.node().int_attribute("saturate", 1) != 0);
  Expr y = unary(UnaryOp::round_even, quotient);
  if (ctx.has_input(kZero)) y = y + cast(wide, zero_point(ctx, at));
  const Range range = range_of(to);
  const Expr low = number(wide, range.low);
  y = select(binary(BinaryOp::greater, y, low), y, low);  // NaN becomes the lowest value too
  if (small_int_bits(to) > 0) y = binary(BinaryOp::min, y, number(wide, range.high));
  return cast(storage_dtype(to), y);  // saturates
}

double rounded_to(DType type, double value) {
  Tensor t(type, {});
  t.set_double(0, value);
  return t.at_double(0);
}

int64_t saturated(DType type, double value) {
  const auto [low, high] = range_of(type);
  return static_cast<int64_t>(std::isnan(value) ? low : std::clamp(value, low, high));
}

const Tensor* optional_input(const ReferenceContext& ctx, int i) {
  return ctx.input_count() > i ? ctx.input(i) : nullptr;
}

std::vector<Tensor> reference_quantize(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(kX), &scale = *ctx.input(kScale), *zero = optional_input(ctx, kZero);
  const DType type = quotient_type(ctx.node(), x.dtype(), scale.dtype());
  Tensor y(ctx.output_dtype(0), x.shape());
  for_each_index(x.shape(), [&, i = int64_t{0}](const std::vector<int64_t>& at) mutable {
    const int64_t s = scale_position(ctx.node(), x, scale, at);
    const double wide = rounded_to(DType::f32, x.at_double(i) / scale.at_double(s));
    const double quotient = rounded_to(type, type == DType::f64 ? x.at_double(i) / scale.at_double(s) : wide);
    const double offset = zero ? zero->at_double(scale_position(ctx.node(), x, *zero, at)) : 0;
    if (is_small_float(y.dtype()))
      y.mutable_data()[i++] = small_float_bits(y.dtype(), quotient, ctx.node().int_attribute("saturate", 1) != 0);
    else
      y.set_int(i++, saturated(y.dtype(), std::nearbyint(quotient) + offset));
  });
  return {std::move(y)};
}

// ---- DequantizeLinear: (x - zero_point) * scale

void infer_dequantize(InferContext& ctx) {
  check_scale(ctx, kScale);
  if (!is_int(ctx.dtype(kX)) && storage_dtype(ctx.dtype(kX)) == ctx.dtype(kX))
    ctx.fail(concat("dequantizing ", name_of(ctx.dtype(kX)), " is not supported"));
  if (ctx.has_input(kZero)) check_scale(ctx, kZero);
  const DType to = dtype_attribute(ctx, "output_dtype").value_or(ctx.dtype(kScale));
  if (!is_float(to)) ctx.fail(concat("the result cannot be ", name_of(to)));
  ctx.set_output(0, to, ctx.shape(kX));
}

Expr lower_dequantize(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const DType wide = arithmetic_dtype(ctx.output_value(output).dtype);
  const DType from = ctx.input_value(kX).dtype;
  Expr x = small_value(from, ctx.input(kX, at));
  if (!is_small_float(from)) {
    const DType exact = size_of(storage_dtype(from)) <= 2 ? DType::i32 : DType::i64;
    if (ctx.has_input(kZero)) x = cast(exact, x) - cast(exact, zero_point(ctx, at));
  }
  return as_output(ctx, output, cast(wide, x) * cast(wide, ctx.input(kScale, scale_index(ctx, kScale, at))));
}

std::vector<Tensor> reference_dequantize(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(kX), &scale = *ctx.input(kScale), *zero = optional_input(ctx, kZero);
  Tensor y(ctx.output_dtype(0), x.shape());
  for_each_index(x.shape(), [&, i = int64_t{0}](const std::vector<int64_t>& at) mutable {
    const double offset = zero ? zero->at_double(scale_position(ctx.node(), x, *zero, at)) : 0;
    const double s = scale.at_double(scale_position(ctx.node(), x, scale, at));
    y.set_double(i, (x.at_double(i) - offset) * s);
    ++i;
  });
  return {std::move(y)};
}

// ---- operators that are rewritten with plain operators

ValueId to_type(NodeBuilder& b, ValueId x, DType type) {
  return b.node("Cast", {x}, {{"to", static_cast<int64_t>(dtype_to_onnx(type))}});
}

void upgrade_dynamic_quantize(UpgradeContext& ctx) {
  NodeBuilder b(ctx.graph, ctx.node.name);
  const QuantizedFactor q = dynamically_quantized(b, ctx.node.inputs.at(0));
  give_output(ctx, 1, q.scale);
  give_output(ctx, 2, q.zero_point);
  become(ctx, "Identity", {q.values});
}

/// round(x * (a_scale * b_scale / y_scale)) + y_zero, saturated to the type of y_zero.
void requantize(UpgradeContext& ctx, NodeBuilder& b, ValueId sum, ValueId a_scale, ValueId b_scale, ValueId y_scale,
                ValueId y_zero) {
  const auto f32 = [&](ValueId v) { return to_type(b, v, DType::f32); };
  const ValueId scale = b.node("Div", {b.multiply(f32(a_scale), f32(b_scale)), f32(y_scale)});
  const ValueId y = b.node("Round", {b.multiply(f32(sum), scale)});
  become(ctx, "CastLike", {b.add(y, f32(y_zero)), y_zero});
}

/// A scale or zero point per row of a matrix may be a vector; it is reshaped to a column.
void upgrade_qlinear_matmul(UpgradeContext& ctx) {
  NodeBuilder b(ctx.graph, ctx.node.name);
  const std::vector<ValueId> in = ctx.node.inputs;
  if (in.size() != 8) fail_node(ctx.node, concat("it has ", in.size(), " inputs, but takes 8"));
  const ValueId sum = b.node("MatMulInteger", {in[0], in[3], in[2], in[5]});
  requantize(ctx, b, sum, in[1], in[4], in[6], in[7]);
}

void upgrade_qlinear_conv(UpgradeContext& ctx) {
  NodeBuilder b(ctx.graph, ctx.node.name);
  const std::vector<ValueId> in = ctx.node.inputs;
  if (in.size() < 8) fail_node(ctx.node, concat("it has ", in.size(), " inputs, but takes 8 or 9"));
  ValueId sum = b.node("ConvInteger", {in[0], in[3], in[2], in[5]}, ctx.node.attributes);
  if (in.size() > 8 && in[8].valid()) sum = b.add(sum, aligned(ctx.graph, ctx.node.name, sum, in[8], 1));
  requantize(ctx, b, sum, in[1], aligned(ctx.graph, ctx.node.name, sum, in[4], 1), in[6], in[7]);
}

/// An operator that exists only in imported models.
constexpr OpDef written(const char* name, int since, int min_inputs, int max_inputs, DeclaredTypes types,
                        DeclaredTypes results, void (*upgrade)(UpgradeContext&)) {
  return {.name = name,
          .since = since,
          .min_inputs = min_inputs,
          .max_inputs = max_inputs,
          .max_outputs = results.count(),
          .types = types,
          .results = results,
          .kind = OpKind::opaque,
          .upgrade = upgrade};
}

}  // namespace

QuantizedFactor dynamically_quantized(NodeBuilder& b, ValueId x) {
  const ValueId zero = b.scalar(DType::f32, 0), most = b.scalar(DType::f32, 255);
  const std::vector<ValueId> extremes = b.outputs(op("Extremes", "gart"), {x}, 2);
  const ValueId low = b.node("Min", {extremes[0], zero}), high = b.node("Max", {extremes[1], zero});
  const ValueId range = b.subtract(high, low);
  const ValueId constant = b.node("Equal", {range, zero});
  const ValueId scale = b.node("Div", {b.node("Where", {constant, b.scalar(DType::f32, 1), range}), most});
  const ValueId offset = b.subtract(zero, b.node("Div", {low, scale}));
  const ValueId zero_point = to_type(b, b.node("Round", {b.node("Clip", {offset, zero, most})}), DType::u8);
  return {b.node("QuantizeLinear", {x, scale, zero_point}), scale, zero_point};
}

ValueId scaled_product(NodeBuilder& b, const QuantizedFactor& left, const QuantizedFactor& right) {
  std::vector<ValueId> operands = {left.values, right.values, left.zero_point, right.zero_point};
  while (!operands.back().valid()) operands.pop_back();
  const ValueId sums = to_type(b, b.node("MatMulInteger", operands), DType::f32);
  return b.multiply(sums, b.multiply(left.scale, right.scale));
}

constinit const OpDef op_QuantizeLinear{.name = "QuantizeLinear",
                                        .since = 10,
                                        .min_inputs = 2,
                                        .max_inputs = 3,
                                        .types = {Types::to_quantize, Types::to_quantize, Types::rounded},
                                        .results = {Types::rounded},
                                        .kind = OpKind::pointwise,
                                        .traits = {.narrow = Narrow::no},
                                        .infer = infer_quantize,
                                        .lower = lower_quantize,
                                        .reference = reference_quantize};
constinit const OpDef op_DequantizeLinear{.name = "DequantizeLinear",
                                          .since = 10,
                                          .min_inputs = 2,
                                          .max_inputs = 3,
                                          .types = {Types::quantized, Types::floats, Types::as_first},
                                          .results = {Types::floats},
                                          .kind = OpKind::pointwise,
                                          .traits = {.cost = Cost::cheap, .narrow = Narrow::no},
                                          .infer = infer_dequantize,
                                          .lower = lower_dequantize,
                                          .reference = reference_dequantize};
constinit const OpDef op_DynamicQuantizeLinear = written("DynamicQuantizeLinear", 11, 1, 1, {Types::floats},
                                                         {Types::u8, Types::f32, Types::u8}, upgrade_dynamic_quantize);
constinit const OpDef op_QLinearMatMul = written(
    "QLinearMatMul", 10, 8, 8,
    {Types::bytes, Types::floats, Types::bytes, Types::bytes, Types::floats, Types::bytes, Types::floats, Types::bytes},
    {Types::bytes}, upgrade_qlinear_matmul);
constinit const OpDef op_QLinearConv = written("QLinearConv", 10, 8, 9,
                                               {Types::bytes, Types::floats, Types::bytes, Types::bytes, Types::floats,
                                                Types::bytes, Types::floats, Types::bytes, Types::integers},
                                               {Types::bytes}, upgrade_qlinear_conv);

}  // namespace gcg
