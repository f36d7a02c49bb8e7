// Pow, Mod and BitShift: binary operators that depend on attributes or on both element types.
#include <cmath>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

// ---- Pow: the result has the dtype of the base

void infer_pow(InferContext& ctx) { ctx.set_output(0, ctx.dtype(0), broadcast_inputs(ctx)); }

/// Powers are computed in f32, or in f64 where f32 cannot hold the operands.
DType power_dtype(DType base, DType exponent) {
  const bool small_exponent = is_int(exponent) || arithmetic_dtype(exponent) == DType::f32;
  return arithmetic_dtype(base) == DType::f32 && small_exponent ? DType::f32 : DType::f64;
}

/// Repeated multiplication, for a small constant whole exponent.
Expr constant_power(const LowerContext& ctx, const Expr& x) {
  const TensorRef& c = ctx.input_value(1).constant;
  if (!c || c->elements() != 1) return nullptr;
  const double exponent = c->at_double(0);
  if (exponent == 1) return x;
  if (exponent == 2) return x * x;
  if (exponent == 3) return x * x * x;
  return nullptr;
}

/// True if all exponents are whole numbers that f32 represents exactly.
bool is_small_whole(const LowerContext& ctx) {
  constexpr int64_t kLargest = 1 << 24;
  const Value& exponent = ctx.input_value(1);
  if (!is_int(exponent.dtype) || size_of(exponent.dtype) < 4) return is_int(exponent.dtype);
  const TensorRef& c = exponent.constant;
  for (int64_t i = 0; c && i < c->elements(); ++i)
    if (std::abs(c->at_double(i)) > kLargest) return false;
  return c != nullptr;
}

/// The power with the rounded exponent. Exponents beyond 2^24 are rounded to even numbers, so the original exponent
/// gives the sign.
Expr signed_power(const Expr& x, const Expr& exponent) {
  const Expr rounded = cast(x->dtype, exponent), power = binary(BinaryOp::pow, x, rounded);
  const Expr odd = binary(BinaryOp::not_equal, binary(BinaryOp::bit_and, exponent, number(exponent->dtype, 1)),
                          number(exponent->dtype, 0));
  const Expr far = binary(BinaryOp::less_equal, number(x->dtype, 0x1p24), unary(UnaryOp::abs, rounded));
  const Expr turned = both(both(odd, far), binary(BinaryOp::less, x, number(x->dtype, 0)));
  return select(turned, unary(UnaryOp::neg, power), power);
}

Expr lower_pow(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const DType dtype = power_dtype(ctx.input_value(0).dtype, ctx.input_value(1).dtype);
  const Expr base = ctx.broadcast_input(0, at);
  if (const Expr product = constant_power(ctx, cast(arithmetic_dtype(base->dtype), base)))
    return as_output(ctx, output, product);
  const Expr exponent = ctx.broadcast_input(1, at);
  if (dtype == DType::f32 && is_int(ctx.input_value(1).dtype) && !is_small_whole(ctx))
    return as_output(ctx, output, signed_power(cast(dtype, base), exponent));
  return as_output(ctx, output, binary(BinaryOp::pow, cast(dtype, base), cast(dtype, exponent)));
}

/// Exact integer powers that wrap around. A negative exponent gives 0, except for bases 1 and -1.
int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  int64_t result = 1;
  for (; exponent > 0; exponent /= 2, base = wrapping_mul(base, base))
    if (exponent % 2 == 1) result = wrapping_mul(result, base);
  return result;
}

std::vector<Tensor> reference_pow(ReferenceContext& ctx) {
  const Tensor &base = *ctx.input(0), &exponent = *ctx.input(1);
  Tensor y(base.dtype(), broadcast_extents(ctx));
  const auto from = broadcast_offsets(base.shape(), y.shape()), by = broadcast_offsets(exponent.shape(), y.shape());
  const bool integers = is_int(base.dtype()) && is_int(exponent.dtype());
  for (int64_t i = 0; i < y.elements(); ++i) {
    const auto e = static_cast<size_t>(i);
    if (integers)
      y.set_int(i, integer_power(base.at_int(from[e]), exponent.at_int(by[e])));
    else
      y.set_double(i, std::pow(base.at_double(from[e]), exponent.at_double(by[e])));
  }
  return {std::move(y)};
}

// ---- Mod: takes the sign of the divisor, or with fmod=1 that of the dividend

void infer_mod(InferContext& ctx) {
  const bool fmod = ctx.node().int_attribute("fmod", 0) != 0;
  if (is_float(ctx.dtype(0)) && !fmod) ctx.fail("attribute fmod must be 1 for floats");
  ctx.set_output(0, ctx.dtype(0), broadcast_inputs(ctx));
  combine_contents(ctx, [&](const std::vector<Dim>& v) -> std::optional<Dim> {
    if (v[1].lower_bound().value_or(-1) < 0 || v[1].is(0)) return std::nullopt;
    if (fmod && v[0].lower_bound().value_or(-1) < 0) return std::nullopt;
    return mod(v[0], v[1]);
  });
}

Expr lower_mod(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const DType dtype = arithmetic_dtype(ctx.input_value(0).dtype);
  const Expr a = cast(dtype, ctx.broadcast_input(0, at)), b = cast(dtype, ctx.broadcast_input(1, at));
  if (ctx.node().int_attribute("fmod", 0) == 0) return as_output(ctx, output, binary(BinaryOp::mod, a, b));
  if (is_float(dtype)) return as_output(ctx, output, binary(BinaryOp::fmod, a, b));
  const Expr remainder = a - binary(BinaryOp::div, a, b) * b;  // a zero divisor gives 0, as it does without fmod
  return select(binary(BinaryOp::equal, b, number(dtype, 0)), number(dtype, 0), remainder);
}

template <class T>
T modulo(T a, T b, bool fmod) {
  if constexpr (std::is_same_v<T, double>) {
    return std::fmod(a, b);
  } else {
    if (b == 0 || (std::is_signed_v<T> && b == T(-1))) return 0;
    const T remainder = a % b;
    const bool wrong_sign = !fmod && remainder != 0 && (remainder < 0) != (b < 0);
    return wrong_sign ? remainder + b : remainder;
  }
}

std::vector<Tensor> reference_mod(ReferenceContext& ctx) {
  const Tensor &a = *ctx.input(0), &b = *ctx.input(1);
  const bool fmod = ctx.node().int_attribute("fmod", 0) != 0;
  Tensor y(a.dtype(), broadcast_extents(ctx));
  const auto from = broadcast_offsets(a.shape(), y.shape()), by = broadcast_offsets(b.shape(), y.shape());
  with_number_type(a.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < y.elements(); ++i) {
      const auto e = static_cast<size_t>(i);
      put<T>(y, i, modulo(get<T>(a, from[e]), get<T>(b, by[e]), fmod));
    }
  });
  return {std::move(y)};
}

// ---- BitShift: unsigned integers; shifting out every bit gives 0

bool shifts_left(const Node& node) { return node.string_attribute("direction", "") == "LEFT"; }

void infer_bit_shift(InferContext& ctx) {
  const std::string direction = ctx.node().string_attribute("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    ctx.fail(concat("direction is '", direction, "', it must be 'LEFT' or 'RIGHT'"));
  ctx.set_output(0, ctx.dtype(0), broadcast_inputs(ctx));
}

Expr lower_bit_shift(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Expr x = ctx.broadcast_input(0, at), by = ctx.broadcast_input(1, at);
  const Expr last = constant_int(x->dtype, 8 * size_of(x->dtype) - 1);
  const BinaryOp op = shifts_left(ctx.node()) ? BinaryOp::shift_left : BinaryOp::shift_right;
  const Expr shifted = binary(op, x, binary(BinaryOp::min, by, last));
  return select(binary(BinaryOp::less_equal, by, last), shifted, constant_int(x->dtype, 0));
}

std::vector<Tensor> reference_bit_shift(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), &by = *ctx.input(1);
  Tensor y(x.dtype(), broadcast_extents(ctx));
  const auto from = broadcast_offsets(x.shape(), y.shape()), bits = broadcast_offsets(by.shape(), y.shape());
  for (int64_t i = 0; i < y.elements(); ++i) {
    const auto value = static_cast<uint64_t>(x.at_int(from[static_cast<size_t>(i)]));
    const auto count = static_cast<uint64_t>(by.at_int(bits[static_cast<size_t>(i)]));
    const uint64_t shifted = count >= 64 ? 0 : shifts_left(ctx.node()) ? value << count : value >> count;
    y.set_int(i, static_cast<int64_t>(shifted));
  }
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_Pow{.name = "Pow",
                             .since = 1,
                             .min_inputs = 2,
                             .max_inputs = 2,
                             .types = {Types::numbers, Types::numbers},
                             .kind = OpKind::pointwise,
                             .traits = {.cost = Cost::expensive, .narrow = Narrow::reads, .data_inputs = 1},
                             .upgrade = upgrade_broadcast,
                             .infer = infer_pow,
                             .lower = lower_pow,
                             .reference = reference_pow};
constinit const OpDef op_Mod{.name = "Mod",
                             .since = 10,
                             .min_inputs = 2,
                             .max_inputs = 2,
                             .types = {Types::numbers, Types::as_first},
                             .kind = OpKind::pointwise,
                             .traits = {.narrow = Narrow::no},
                             .infer = infer_mod,
                             .lower = lower_mod,
                             .reference = reference_mod};
constinit const OpDef op_BitShift{.name = "BitShift",
                                  .since = 11,
                                  .min_inputs = 2,
                                  .max_inputs = 2,
                                  .types = {Types::unsigned_integers, Types::as_first},
                                  .kind = OpKind::pointwise,
                                  .infer = infer_bit_shift,
                                  .lower = lower_bit_shift,
                                  .reference = reference_bit_shift};

}  // namespace gcg
