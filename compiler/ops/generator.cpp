// Operators that make tensors from shapes and scalars: ConstantOfShape, Range, EyeLike, OneHot.
#include <cmath>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

// ---- ConstantOfShape

/// The one element of the attribute `value`; f32 zero without the attribute.
Tensor fill_value(const Node& node) {
  const TensorRef value = node.tensor_attribute("value");
  return value ? *value : Tensor(DType::f32, {1});
}

void infer_constant_of_shape(InferContext& ctx) {
  const Tensor value = fill_value(ctx.node());
  if (value.elements() != 1) ctx.fail(concat("attribute value has ", value.elements(), " elements, it must have one"));
  if (ctx.rank(0) != 1) ctx.fail("the shape (input 0) must be a vector");
  Shape shape;
  if (const auto contents = ctx.contents(0)) {
    shape = *contents;
  } else {
    if (!ctx.shape(0)[0].is_constant()) ctx.fail("the number of dimensions of the shape is not known at compile time");
    for (const auto& known : ctx.known_contents(0)) {
      // Requests a symbol for a known extent, too, so that every dimension always gets the same symbol.
      const Dim symbol = ctx.fresh_symbol("filled");
      shape.push_back(known.value_or(symbol));
    }
  }
  const bool small = shape.size() <= 1 && is_static(shape) && product(shape).constant() <= 1024;
  const int64_t count = small ? product(shape).constant() : 0;
  ctx.set_output(0, value.dtype(), std::move(shape));
  if (small && !is_float(value.dtype()))
    ctx.set_contents(0, std::vector<Dim>(static_cast<size_t>(count), value.at_int(0)));
}

Expr filled_extent(LowerContext& ctx, int symbol) { return integer_input(ctx, 0, {index(symbol)}); }

Expr lower_constant_of_shape(LowerContext& ctx, int, const std::vector<Expr>&) {
  const Tensor value = fill_value(ctx.node());
  return is_float(value.dtype()) ? constant_float(value.dtype(), value.at_double(0))
                                 : constant_int(value.dtype(), value.at_int(0));
}

std::vector<Tensor> reference_constant_of_shape(ReferenceContext& ctx) {
  const Tensor value = fill_value(ctx.node());
  Tensor y(value.dtype(), ctx.input(0)->to_ints());
  for (int64_t i = 0; i < y.elements(); ++i) copy_element(y, i, value, 0);
  return {std::move(y)};
}

// ---- Range: start, start + delta, ... before limit

int64_t range_length(double start, double limit, double delta) {
  return static_cast<int64_t>(std::max(std::ceil((limit - start) / delta), 0.0));
}

/// The number of elements, if start, limit and delta are known well enough.
std::optional<Dim> known_length(const InferContext& ctx) {
  if (is_float(ctx.dtype(0))) {
    if (!ctx.constant(0) || !ctx.constant(1) || !ctx.constant(2)) return std::nullopt;
    return Dim(
        range_length(ctx.constant(0)->at_double(0), ctx.constant(1)->at_double(0), ctx.constant(2)->at_double(0)));
  }
  const auto start = ctx.contents(0), limit = ctx.contents(1), delta = ctx.contents(2);
  if (!start || !limit || !delta || !delta->front().is_constant()) return std::nullopt;
  const int64_t step = delta->front().constant();
  const Dim distance = step > 0 ? limit->front() - start->front() : start->front() - limit->front();
  return ceil_div(distance.lower_bound().value_or(-1) >= 0 ? distance : max(distance, 0), step > 0 ? step : -step);
}

void infer_range(InferContext& ctx) {
  for (int i = 0; i < 3; ++i)
    if (!product(ctx.shape(i)).is(1)) ctx.fail(concat("input ", i, " is not a scalar"));
  const TensorRef delta = ctx.constant(2);
  if (delta && delta->at_double(0) == 0) ctx.fail("delta is 0");
  const auto length = known_length(ctx);
  ctx.set_output(0, ctx.dtype(0), {length ? *length : ctx.fresh_symbol("range")});
  const auto start = ctx.contents(0), step = ctx.contents(2);
  if (!length || !length->is_constant() || length->constant() > 1024 || !start || !step) return;
  std::vector<Dim> contents;
  for (int64_t i = 0; i < length->constant(); ++i) contents.push_back(start->front() + Dim(i) * step->front());
  ctx.set_contents(0, std::move(contents));
}

Expr range_scalar(LowerContext& ctx, int i, DType dtype) {
  if (is_float(dtype)) return scalar_input(ctx, i, dtype);
  return cast(dtype, integer_input(ctx, i, Index(ctx.input_shape(i).size(), index(0))));
}

Expr range_extent(LowerContext& ctx, int) {
  const DType dtype = ctx.input_value(0).dtype;
  const DType type = is_float(dtype) ? DType::f64 : DType::i64;  // as in range_length: f32 would round the distance
  const Expr delta = range_scalar(ctx, 2, type), zero = number(type, 0);
  const Expr distance = range_scalar(ctx, 1, type) - range_scalar(ctx, 0, type);
  const Expr none = binary(BinaryOp::equal, delta, zero);  // a step of zero defines no number of elements
  if (is_float(dtype)) {
    const Expr steps = unary(UnaryOp::ceil, binary(BinaryOp::div, distance, delta));
    return select(none, index(-1), binary(BinaryOp::max, cast(DType::i64, steps), index(0)));
  }
  const Expr forward = binary(BinaryOp::greater, delta, zero);
  const Expr length = select(forward, distance, zero - distance), step = select(forward, delta, zero - delta);
  // Rounding up by adding step - 1 could overflow 64 bits.
  const Expr whole = binary(BinaryOp::div, length - index(1), step) + index(1);
  return select(none, index(-1), select(binary(BinaryOp::greater, length, zero), whole, zero));
}

Expr lower_range(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const DType dtype = arithmetic_dtype(ctx.output_value(0).dtype);
  return as_output(ctx, output, range_scalar(ctx, 0, dtype) + cast(dtype, at[0]) * range_scalar(ctx, 2, dtype));
}

std::vector<Tensor> reference_range(ReferenceContext& ctx) {
  const Tensor &start = *ctx.input(0), &limit = *ctx.input(1), &delta = *ctx.input(2);
  if (delta.at_double(0) == 0) fail_node(ctx.node(), "delta is 0");
  const int64_t length = range_length(start.at_double(0), limit.at_double(0), delta.at_double(0));
  Tensor y(start.dtype(), {length});
  for (int64_t i = 0; i < length; ++i) {
    if (is_float(y.dtype()))
      y.set_double(i, start.at_double(0) + static_cast<double>(i) * delta.at_double(0));
    else
      y.set_int(i, start.at_int(0) + i * delta.at_int(0));
  }
  return {std::move(y)};
}

// ---- EyeLike: ones on diagonal k

void infer_eye_like(InferContext& ctx) {
  if (ctx.rank(0) != 2) ctx.fail("the input must have 2 dimensions");
  DType dtype = ctx.dtype(0);
  if (ctx.node().has_attribute("dtype")) {
    const int64_t to = ctx.node().int_attribute("dtype", 0);
    const auto named = dtype_from_onnx(static_cast<int32_t>(to));
    if (!named) ctx.fail(concat("element type ", to, " (attribute 'dtype') is not supported"));
    dtype = *named;
  }
  ctx.set_output(0, dtype, ctx.shape(0));
}

Expr lower_eye_like(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const DType dtype = ctx.output_value(output).dtype;
  const Expr on_diagonal = binary(BinaryOp::equal, at[1], at[0] + index(ctx.node().int_attribute("k", 0)));
  return select(on_diagonal, number(dtype, 1), number(dtype, 0));
}

std::vector<Tensor> reference_eye_like(ReferenceContext& ctx) {
  Tensor y(ctx.output_dtype(0), ctx.input(0)->shape());
  const int64_t rows = y.shape()[0], columns = y.shape()[1], k = ctx.node().int_attribute("k", 0);
  for (int64_t r = 0; r < rows; ++r)
    if (r + k >= 0 && r + k < columns) y.set_int(r * columns + r + k, 1);
  return {std::move(y)};
}

// ---- OneHot: values[1] where the new axis equals the index, else values[0]

int64_t one_hot_axis(const Node& node, int64_t rank) { return wrap_axis(node.int_attribute("axis", -1), rank); }

Dim one_hot_depth(InferContext& ctx) {
  if (const TensorRef c = ctx.constant(1)) return c->at_int(0);
  const auto contents = ctx.contents(1);
  return contents ? contents->front() : ctx.fresh_symbol("depth");
}

void infer_one_hot(InferContext& ctx) {
  if (!product(ctx.shape(1)).is(1)) ctx.fail("depth (input 1) is not a scalar");
  if (ctx.rank(2) != 1) ctx.fail("values (input 2) must be a vector of two");
  ctx.require_equal(ctx.shape(2)[0], 2, "values (input 2)");
  const int64_t axis = ctx.axis(ctx.node().int_attribute("axis", -1), ctx.rank(0) + 1);
  Shape shape = ctx.shape(0);
  shape.insert(shape.begin() + axis, one_hot_depth(ctx));
  ctx.set_output(0, ctx.dtype(2), std::move(shape));
}

Expr one_hot_extent(LowerContext& ctx, int) {
  return cast(DType::i64, ctx.input(1, Index(ctx.input_shape(1).size(), index(0))));
}

Expr lower_one_hot(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const int64_t axis = one_hot_axis(ctx.node(), static_cast<int64_t>(at.size()));
  Index where = at;
  where.erase(where.begin() + axis);
  const Expr depth = extent(ctx.output_shape(0)[static_cast<size_t>(axis)]),
             hot = cast(DType::i64, ctx.input(0, where));
  const Expr position = select(binary(BinaryOp::less, hot, index(0)), hot + depth, hot);
  return select(binary(BinaryOp::equal, position, at[static_cast<size_t>(axis)]), ctx.input(2, {index(1)}),
                ctx.input(2, {index(0)}));
}

std::vector<Tensor> reference_one_hot(ReferenceContext& ctx) {
  const Tensor &indices = *ctx.input(0), &values = *ctx.input(2);
  const int64_t depth = ctx.input(1)->at_int(0), axis = one_hot_axis(ctx.node(), indices.rank() + 1);
  std::vector<int64_t> shape = indices.shape();
  shape.insert(shape.begin() + axis, depth);
  Tensor y(values.dtype(), shape);
  int64_t i = 0;
  for_each_index(shape, [&](std::vector<int64_t> at) {
    const int64_t here = at[static_cast<size_t>(axis)];
    at.erase(at.begin() + axis);
    const int64_t hot = indices.at_int(position(at, indices.shape()));
    copy_element(y, i++, values, hot == here || hot + depth == here ? 1 : 0);
  });
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_ConstantOfShape{.name = "ConstantOfShape",
                                         .since = 9,
                                         .min_inputs = 1,
                                         .max_inputs = 1,
                                         .types = {Types::integers},
                                         .results = {Types::any},
                                         .kind = OpKind::generator,
                                         .infer = infer_constant_of_shape,
                                         .lower = lower_constant_of_shape,
                                         .data_extent = filled_extent,
                                         .reference = reference_constant_of_shape};
constinit const OpDef op_Range{.name = "Range",
                               .since = 11,
                               .min_inputs = 3,
                               .max_inputs = 3,
                               .types = {Types::numbers, Types::as_first},
                               .kind = OpKind::generator,
                               .traits = {.magnitude = Magnitude::exact},
                               .infer = infer_range,
                               .lower = lower_range,
                               .data_extent = range_extent,
                               .reference = reference_range};
constinit const OpDef op_EyeLike{.name = "EyeLike",
                                 .since = 9,
                                 .min_inputs = 1,
                                 .max_inputs = 1,
                                 .types = {Types::numbers_and_bool},
                                 .results = {Types::numbers_and_bool},
                                 .kind = OpKind::generator,
                                 .infer = infer_eye_like,
                                 .lower = lower_eye_like,
                                 .reference = reference_eye_like};
constinit const OpDef op_OneHot{.name = "OneHot",
                                .since = 9,
                                .min_inputs = 3,
                                .max_inputs = 3,
                                .types = {Types::numbers, Types::numbers, Types::any},
                                .results = {Types::as_third},
                                .kind = OpKind::movement,
                                .infer = infer_one_hot,
                                .lower = lower_one_hot,
                                .data_extent = one_hot_extent,
                                .reference = reference_one_hot};

}  // namespace gcg
