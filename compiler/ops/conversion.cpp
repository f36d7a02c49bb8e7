// Operators that return their input unchanged or in another element type.
#include <algorithm>
#include <cmath>

#include "compiler/ir/small_float.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"
#include "compiler/ops/small_types.h"

namespace gcg {
namespace {

/// A conversion to integers keeps the contents of integers. A conversion to bool keeps them if each is provably zero or
/// nonzero.
void convert_contents(InferContext& ctx, DType to) {
  if (is_int(to)) map_contents(ctx, 0, [](const Dim& d) -> std::optional<Dim> { return d; });
  if (to != DType::boolean) return;
  map_contents(ctx, 0, [](const Dim& d) -> std::optional<Dim> {
    if (d.is_constant()) return Dim(!d.is(0));
    if (d.lower_bound().value_or(0) > 0 || d.upper_bound().value_or(0) < 0) return Dim(1);
    return std::nullopt;
  });
}

void infer_cast(InferContext& ctx) {
  const int64_t to = ctx.node().int_attribute("to", 0);
  const auto dtype = dtype_from_onnx(static_cast<int32_t>(to));
  if (!dtype) ctx.fail(concat("element type ", to, " (attribute 'to') is not supported"));
  ctx.set_output(0, *dtype, ctx.shape(0));
  convert_contents(ctx, *dtype);
}

void infer_cast_like(InferContext& ctx) {
  ctx.set_output(0, ctx.dtype(1), ctx.shape(0));
  convert_contents(ctx, ctx.dtype(1));
}

bool saturates(const Node& node) { return node.int_attribute("saturate", 1) != 0; }

Expr lower_cast(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const DType from = ctx.input_value(0).dtype, to = ctx.output_value(output).dtype;
  if (from == to) return ctx.input(0, at);
  const Expr x = small_value(from, ctx.input(0, at));
  return storage_dtype(to) == to ? cast(to, x) : small_element(to, x, saturates(ctx.node()));
}

/// Truncates towards zero and saturates to the integer type; NaN becomes 0.
int64_t saturate(double x, DType to) {
  const int bits = static_cast<int>(8 * size_of(to));
  const double high = std::ldexp(1.0, is_unsigned_int(to) ? bits : bits - 1), low = is_unsigned_int(to) ? 0 : -high;
  if (std::isnan(x) || (x <= 0 && low == 0)) return 0;
  if (x <= low) return static_cast<int64_t>(low);
  if (x < high) return is_unsigned_int(to) ? static_cast<int64_t>(static_cast<uint64_t>(x)) : static_cast<int64_t>(x);
  const uint64_t ones = ~uint64_t{0} >> (64 - bits);
  return static_cast<int64_t>(is_unsigned_int(to) ? ones : ones >> 1);
}

void convert_element(const Node& node, const Tensor& x, int64_t i, Tensor& y) {
  const DType to = y.dtype();
  if (is_small_float(to)) {
    y.mutable_data()[i] = small_float_bits(to, x.at_double(i), saturates(node));
  } else if (is_float(x.dtype()) || is_small_float(x.dtype())) {
    const double v = x.at_double(i);
    if (is_float(to))
      y.set_double(i, v);
    else if (small_int_bits(to) > 0)
      y.set_int(i, saturate(v, DType::i32));
    else
      y.set_int(i, to == DType::boolean ? v != 0 : saturate(v, to));
  } else if (is_float(to)) {
    y.set_double(i, x.at_double(i));
  } else {
    y.set_int(i, x.at_int(i));
  }
}

std::vector<Tensor> reference_cast(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  Tensor y(ctx.output_dtype(0), x.shape());
  for (int64_t i = 0; i < x.elements(); ++i) convert_element(ctx.node(), x, i, y);
  return {std::move(y)};
}

// ---- BitCast: the same bytes as another type of the same size

void infer_bit_cast(InferContext& ctx) {
  const int64_t to = ctx.node().int_attribute("to", 0);
  const auto dtype = dtype_from_onnx(static_cast<int32_t>(to));
  if (!dtype) ctx.fail(concat("element type ", to, " (attribute 'to') is not supported"));
  if (size_of(*dtype) != size_of(ctx.dtype(0)))
    ctx.fail(concat("elements of ", name_of(ctx.dtype(0)), " and ", name_of(*dtype), " differ in size"));
  ctx.set_output(0, *dtype, ctx.shape(0));
}

std::vector<Tensor> reference_bit_cast(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  Tensor y(ctx.output_dtype(0), x.shape());
  std::copy(x.data(), x.data() + x.bytes(), y.mutable_data());
  return {std::move(y)};
}

void infer_identity(InferContext& ctx) {
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
  map_contents(ctx, 0, [](const Dim& d) -> std::optional<Dim> { return d; });
}

Expr lower_identity(LowerContext& ctx, int, const std::vector<Expr>& at) { return ctx.input(0, at); }

std::vector<Tensor> reference_identity(ReferenceContext& ctx) { return {*ctx.input(0)}; }

}  // namespace

constinit const OpDef op_Cast{.name = "Cast",
                              .since = 6,
                              .min_inputs = 1,
                              .max_inputs = 1,
                              .results = {Types::any},
                              .kind = OpKind::pointwise,
                              .traits = {.cost = Cost::cheap, .narrow = Narrow::no},
                              .infer = infer_cast,
                              .lower = lower_cast,
                              .reference = reference_cast};
/// A view. Its bits exist only in the storage of its input, so the input is always stored (see fuse).
constinit const OpDef op_BitCast{.name = "BitCast",
                                 .since = 26,
                                 .min_inputs = 1,
                                 .max_inputs = 1,
                                 .results = {Types::any},
                                 .kind = OpKind::view,
                                 .traits = {.narrow = Narrow::no},
                                 .infer = infer_bit_cast,
                                 .lower = lower_identity,
                                 .reference = reference_bit_cast};
constinit const OpDef op_CastLike{.name = "CastLike",
                                  .since = 15,
                                  .min_inputs = 2,
                                  .max_inputs = 2,
                                  .results = {Types::as_second},
                                  .kind = OpKind::pointwise,
                                  .traits = {.cost = Cost::cheap, .narrow = Narrow::no},
                                  .infer = infer_cast_like,
                                  .lower = lower_cast,
                                  .reference = reference_cast};
constinit const OpDef op_Identity{.name = "Identity",
                                  .since = 1,
                                  .min_inputs = 1,
                                  .max_inputs = 1,
                                  .kind = OpKind::view,
                                  .infer = infer_identity,
                                  .lower = lower_identity,
                                  .reference = reference_identity};

}  // namespace gcg
