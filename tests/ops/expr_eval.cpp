#include "tests/ops/expr_eval.h"

#include <bit>
#include <cmath>
#include <limits>

#include "compiler/support/error.h"

namespace gcg::test {
namespace {

double sign(double x) { return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0)); }

double float_unary(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::neg:
      return -x;
    case UnaryOp::abs:
      return std::fabs(x);
    case UnaryOp::sqrt:
      return std::sqrt(x);
    case UnaryOp::rsqrt:
      return 1 / std::sqrt(x);
    case UnaryOp::exp:
      return std::exp(x);
    case UnaryOp::log:
      return std::log(x);
    case UnaryOp::erf:
      return std::erf(x);
    case UnaryOp::tanh:
      return std::tanh(x);
    case UnaryOp::sigmoid:
      return 1 / (1 + std::exp(-x));
    case UnaryOp::sin:
      return std::sin(x);
    case UnaryOp::cos:
      return std::cos(x);
    case UnaryOp::tan:
      return std::tan(x);
    case UnaryOp::asin:
      return std::asin(x);
    case UnaryOp::acos:
      return std::acos(x);
    case UnaryOp::atan:
      return std::atan(x);
    case UnaryOp::sinh:
      return std::sinh(x);
    case UnaryOp::cosh:
      return std::cosh(x);
    case UnaryOp::asinh:
      return std::asinh(x);
    case UnaryOp::acosh:
      return std::acosh(x);
    case UnaryOp::atanh:
      return std::atanh(x);
    case UnaryOp::floor:
      return std::floor(x);
    case UnaryOp::ceil:
      return std::ceil(x);
    case UnaryOp::round_even:
      return std::nearbyint(x);
    case UnaryOp::reciprocal:
      return 1 / x;
    case UnaryOp::sign:
      return sign(x);
    default:
      fail("unary operator ", static_cast<int>(op), " on a float");
  }
}

int64_t negated(int64_t a) { return static_cast<int64_t>(-static_cast<uint64_t>(a)); }

int64_t integer_unary(UnaryOp op, DType dtype, int64_t a) {
  const bool negative = a < 0 && !is_unsigned_int(dtype);
  switch (op) {
    case UnaryOp::neg:
      return negated(a);
    case UnaryOp::abs:
      return negative ? negated(a) : a;
    case UnaryOp::sign:
      return negative ? -1 : a != 0;
    case UnaryOp::bit_not:
      return ~a;
    case UnaryOp::logical_not:
      return a == 0;
    default:
      fail("unary operator ", static_cast<int>(op), " on ", name_of(dtype));
  }
}

double propagate(double a, double b, double otherwise) { return std::isnan(a) || std::isnan(b) ? NAN : otherwise; }

double float_binary(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::div:
      return a / b;
    case BinaryOp::fmod:
      return std::fmod(a, b);
    case BinaryOp::pow:
      return std::pow(a, b);
    case BinaryOp::max:
      return propagate(a, b, a > b ? a : b);
    case BinaryOp::min:
      return propagate(a, b, a < b ? a : b);
    default:
      fail("binary operator ", static_cast<int>(op), " on floats");
  }
}

int compare(BinaryOp op, bool equal, bool less, bool greater) {
  switch (op) {
    case BinaryOp::equal:
      return equal;
    case BinaryOp::not_equal:
      return !equal;
    case BinaryOp::less:
      return less;
    case BinaryOp::less_equal:
      return less || equal;
    case BinaryOp::greater:
      return greater;
    case BinaryOp::greater_equal:
      return greater || equal;
    default:
      return -1;
  }
}

/// T is int64_t or uint64_t: division, order and right shifts depend on the sign.
template <class T>
int64_t integer_binary(BinaryOp op, T a, T b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  const bool by_minus_one = std::is_signed_v<T> && y == ~uint64_t{0};
  auto remainder = [&]() -> T { return b == 0 || by_minus_one ? T{0} : a % b; };
  auto quotient = [&]() -> T { return b == 0 ? T{0} : by_minus_one ? static_cast<T>(-x) : a / b; };
  const bool signs_differ = remainder() != 0 && (remainder() < 0) != (b < 0);
  switch (op) {
    case BinaryOp::add:
      return static_cast<int64_t>(x + y);
    case BinaryOp::sub:
      return static_cast<int64_t>(x - y);
    case BinaryOp::mul:
      return static_cast<int64_t>(x * y);
    case BinaryOp::div:
      return static_cast<int64_t>(quotient());
    case BinaryOp::floor_div:
      return static_cast<int64_t>(quotient()) - (signs_differ ? 1 : 0);
    case BinaryOp::mod:
      return static_cast<int64_t>(remainder() + (signs_differ ? b : T{0}));
    case BinaryOp::fmod:
      return static_cast<int64_t>(remainder());
    case BinaryOp::max:
      return static_cast<int64_t>(a > b ? a : b);
    case BinaryOp::min:
      return static_cast<int64_t>(a < b ? a : b);
    case BinaryOp::logical_and:
      return a != 0 && b != 0;
    case BinaryOp::logical_or:
      return a != 0 || b != 0;
    case BinaryOp::logical_xor:
      return (a != 0) != (b != 0);
    case BinaryOp::bit_and:
      return static_cast<int64_t>(x & y);
    case BinaryOp::bit_or:
      return static_cast<int64_t>(x | y);
    case BinaryOp::bit_xor:
      return static_cast<int64_t>(x ^ y);
    case BinaryOp::shift_left:
      return y < 64 ? static_cast<int64_t>(x << y) : 0;
    case BinaryOp::shift_right:
      return static_cast<int64_t>(y < 64 ? a >> y : T{0});
    case BinaryOp::checked_index:
      GCG_CHECK(x < y, "index ", static_cast<int64_t>(x), " of ", static_cast<int64_t>(y), " elements");
      return static_cast<int64_t>(x);
    default:
      fail("binary operator ", static_cast<int>(op), " on integers");
  }
}

BinaryOp combiner(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return BinaryOp::add;
    case ReduceOp::prod:
      return BinaryOp::mul;
    case ReduceOp::max:
      return BinaryOp::max;
    case ReduceOp::min:
      return BinaryOp::min;
    case ReduceOp::logical_and:
      return BinaryOp::logical_and;
    case ReduceOp::logical_or:
      return BinaryOp::logical_or;
  }
  fail("reduction operator");
}

/// Truncates towards zero and clamps to the range of an integer dtype; NaN becomes 0.
int64_t saturated(DType to, double x) {
  if (std::isnan(x)) return 0;
  const double t = std::trunc(x);
  const int bits = static_cast<int>(size_of(to)) * 8;
  if (is_unsigned_int(to)) {
    if (t <= 0) return 0;
    if (t >= std::ldexp(1.0, bits)) return bits == 64 ? -1 : (int64_t{1} << bits) - 1;
    return static_cast<int64_t>(static_cast<uint64_t>(t));
  }
  const int64_t highest = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  if (t >= std::ldexp(1.0, bits - 1)) return highest;
  if (t < -std::ldexp(1.0, bits - 1)) return -highest - 1;
  return static_cast<int64_t>(t);
}

}  // namespace

Scalar round_to(DType dtype, Scalar value) {
  if (dtype == DType::f64) return {value.number, 0};
  if (dtype == DType::f32) return {static_cast<double>(static_cast<float>(value.number)), 0};
  if (dtype == DType::i64 || dtype == DType::u64) return {0, value.integer};
  Tensor one(dtype, {});
  if (is_float(dtype)) {
    one.set_double(0, value.number);
    return {one.at_double(0), 0};
  }
  one.set_int(0, value.integer);
  return {0, one.at_int(0)};
}

Scalar apply(UnaryOp op, DType dtype, Scalar a) {
  if (op == UnaryOp::is_nan) return {0, is_float(dtype) && std::isnan(a.number)};
  if (op == UnaryOp::is_inf) return {0, is_float(dtype) && std::isinf(a.number)};
  if (op == UnaryOp::bits && dtype == DType::f32) return {0, std::bit_cast<uint32_t>(static_cast<float>(a.number))};
  if (op == UnaryOp::bits) return {0, std::bit_cast<int64_t>(a.number)};
  if (op == UnaryOp::of_bits && dtype == DType::u32) return {std::bit_cast<float>(static_cast<uint32_t>(a.integer)), 0};
  if (op == UnaryOp::of_bits) return {std::bit_cast<double>(a.integer), 0};
  if (is_float(dtype)) return round_to(dtype, {float_unary(op, a.number), 0});
  return round_to(op == UnaryOp::logical_not ? DType::boolean : dtype, {0, integer_unary(op, dtype, a.integer)});
}

Scalar apply(BinaryOp op, DType dtype, Scalar a, Scalar b) {
  if (is_float(dtype)) {
    const int truth = compare(op, a.number == b.number, a.number<b.number, a.number> b.number);
    if (truth >= 0) return {0, truth};
    return round_to(dtype, {float_binary(op, a.number, b.number), 0});
  }
  const auto ua = static_cast<uint64_t>(a.integer), ub = static_cast<uint64_t>(b.integer);
  const bool is_unsigned = is_unsigned_int(dtype);
  const int truth = is_unsigned ? compare(op, ua == ub, ua<ub, ua> ub)
                                : compare(op, a.integer == b.integer, a.integer<b.integer, a.integer> b.integer);
  if (truth >= 0) return {0, truth};
  return round_to(dtype, {0, is_unsigned ? integer_binary(op, ua, ub) : integer_binary(op, a.integer, b.integer)});
}

Scalar convert(DType from, DType to, Scalar a) {
  if (is_float(from)) {
    if (is_float(to)) return round_to(to, a);
    if (to == DType::boolean) return {0, a.number != 0};
    return {0, saturated(to, a.number)};
  }
  if (to == DType::boolean) return {0, a.integer != 0};
  if (!is_float(to)) return round_to(to, a);
  if (from == DType::u64) return round_to(to, {static_cast<double>(static_cast<uint64_t>(a.integer)), 0});
  return round_to(to, {static_cast<double>(a.integer), 0});
}

Scalar ExprEvaluator::evaluate(const Expr& e, bool live) {
  switch (e->kind) {
    case ExprKind::constant:
      return {e->number, e->integer};
    case ExprKind::axis:
      return {0, axes_.at(e->axis)};
    case ExprKind::extent:
      return {0, e->dim.evaluate(symbols_)};
    case ExprKind::load:
      return load(*e, live);
    case ExprKind::local:
      return locals_.at(e->local);
    case ExprKind::accumulator:
      return {accumulator_, 0};
    case ExprKind::unary:
      return apply(e->unary, e->args[0]->dtype, evaluate(e->args[0], live));
    case ExprKind::binary:
      return apply(e->binary, e->args[0]->dtype, evaluate(e->args[0], live), evaluate(e->args[1], live));
    case ExprKind::select: {
      const bool taken = evaluate(e->args[0], live).integer != 0;
      const Scalar then = evaluate(e->args[1], live && taken), otherwise = evaluate(e->args[2], live && !taken);
      return taken ? then : otherwise;
    }
    case ExprKind::cast:
      return convert(e->args[0]->dtype, e->dtype, evaluate(e->args[0], live));
    case ExprKind::reduce: {
      const Expr identity = reduce_identity(e->reduce, e->dtype);
      return round_to(e->dtype, reduce(*e, 0, {identity->number, identity->integer}, live));
    }
  }
  fail("expression kind");
}

Scalar ExprEvaluator::load(const ExprNode& e, bool live) {
  std::vector<int64_t> at;
  for (const Expr& i : e.args) at.push_back(evaluate(i, live).integer);
  if (e.guarded && !live) return {std::numeric_limits<double>::quiet_NaN(), int64_t{0x5a5a5a5a5a5a5a5a}};
  const Tensor* t = operands_.at(static_cast<size_t>(e.operand));
  GCG_CHECK(t != nullptr, "load of operand ", e.operand, ", which has no data");
  GCG_CHECK(t->dtype() == e.dtype, "load of operand ", e.operand, " as ", name_of(e.dtype), ", it is ",
            name_of(t->dtype()));
  GCG_CHECK(static_cast<int64_t>(at.size()) == t->rank(), "load with ", at.size(), " indices of rank ", t->rank());
  int64_t offset = 0;
  for (size_t d = 0; d < at.size(); ++d) {
    GCG_CHECK(at[d] >= 0 && at[d] < t->shape()[d], "load of operand ", e.operand, " outside: index ", at[d],
              " in dimension ", d, " of extent ", t->shape()[d]);
    offset = offset * t->shape()[d] + at[d];
  }
  if (is_float(e.dtype)) return {t->at_double(offset), 0};
  return {0, t->at_int(offset)};
}

Scalar ExprEvaluator::reduce(const ExprNode& e, size_t depth, Scalar so_far, bool live) {
  // Accumulates floats in double, because each kernel may choose its own order of rounding.
  if (depth == e.reduce_axes.size()) {
    const Scalar value = evaluate(e.args[0], live);
    return apply(combiner(e.reduce), is_float(e.dtype) ? DType::f64 : e.dtype, so_far, value);
  }
  const Axis& axis = e.reduce_axes[depth];
  const int64_t extent = axis.extent.evaluate(symbols_);
  for (int64_t i = 0; i < extent; ++i) {
    axes_[axis.id] = i;
    so_far = reduce(e, depth + 1, so_far, live);
  }
  return so_far;
}

}  // namespace gcg::test
