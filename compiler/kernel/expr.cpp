#include "compiler/kernel/expr.h"

#include <cmath>
#include <limits>
#include <unordered_map>

#include "compiler/support/error.h"

namespace gcg {
namespace {

std::shared_ptr<ExprNode> make(ExprKind kind, DType dtype, std::vector<Expr> args = {}) {
  auto n = std::make_shared<ExprNode>();
  n->kind = kind;
  n->dtype = dtype;
  n->args = std::move(args);
  return n;
}

bool is_constant(const Expr& e) { return e->kind == ExprKind::constant; }

bool is_number(const Expr& e, int64_t value) {
  return is_constant(e) && (is_float(e->dtype) ? e->number == static_cast<double>(value) : e->integer == value);
}

bool is_comparison(BinaryOp op) { return op >= BinaryOp::equal && op <= BinaryOp::greater_equal; }

/// Wraps an integer to the range of its dtype, as the stored element would be.
int64_t wrap(DType t, int64_t v) {
  switch (t) {
    case DType::i8:
      return static_cast<int8_t>(v);
    case DType::i16:
      return static_cast<int16_t>(v);
    case DType::i32:
      return static_cast<int32_t>(v);
    case DType::u8:
      return static_cast<uint8_t>(v);
    case DType::u16:
      return static_cast<uint16_t>(v);
    case DType::u32:
      return static_cast<uint32_t>(v);
    case DType::boolean:
      return v != 0;
    default:
      return v;
  }
}

int64_t wrapped_negative(int64_t a) { return static_cast<int64_t>(0 - static_cast<uint64_t>(a)); }

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrapped_negative(a);  // the lowest number has no positive counterpart
  return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}

/// Integer arithmetic on constants; nullopt if folding needs special care (unsigned 64-bit compares, ...).
std::optional<int64_t> fold_integers(BinaryOp op, DType t, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (op) {
    case BinaryOp::add:
      __builtin_add_overflow(a, b, &r);
      return wrap(t, r);  // wraps, as the machine's arithmetic does
    case BinaryOp::sub:
      __builtin_sub_overflow(a, b, &r);
      return wrap(t, r);
    case BinaryOp::mul:
      __builtin_mul_overflow(a, b, &r);
      return wrap(t, r);
    default:
      break;
  }
  if (t == DType::u64) return std::nullopt;
  switch (op) {
    case BinaryOp::floor_div:
      return wrap(t, floor_divide(a, b));
    case BinaryOp::mod:
      return b == 0 || b == -1 ? 0 : a - floor_divide(a, b) * b;
    case BinaryOp::max:
      return std::max(a, b);
    case BinaryOp::min:
      return std::min(a, b);
    case BinaryOp::equal:
      return a == b;
    case BinaryOp::not_equal:
      return a != b;
    case BinaryOp::less:
      return a < b;
    case BinaryOp::less_equal:
      return a <= b;
    case BinaryOp::greater:
      return a > b;
    case BinaryOp::greater_equal:
      return a >= b;
    case BinaryOp::logical_and:
      return a && b;
    case BinaryOp::logical_or:
      return a || b;
    case BinaryOp::logical_xor:
      return (a != 0) != (b != 0);
    default:
      return std::nullopt;
  }
}

/// Simplifies x + 0, x * 1 and the like; null if none applies.
Expr simplify_identity(BinaryOp op, const Expr& a, const Expr& b) {
  const bool integers = !is_float(a->dtype);
  switch (op) {
    case BinaryOp::add:
      if (integers && is_number(a, 0)) return b;
      if (integers && is_number(b, 0)) return a;
      break;
    case BinaryOp::sub:
      if (is_number(b, 0)) return a;  // x - 0 is x for floats too
      break;
    case BinaryOp::mul:
      if (is_number(a, 1)) return b;
      if (is_number(b, 1)) return a;
      if (integers && (is_number(a, 0) || is_number(b, 0))) return constant_int(a->dtype, 0);
      break;
    case BinaryOp::div:
    case BinaryOp::floor_div:
      if (is_number(b, 1)) return a;
      break;
    case BinaryOp::mod:
      if (integers && is_number(b, 1)) return constant_int(a->dtype, 0);
      break;
    case BinaryOp::logical_and:
      if (is_constant(a)) return a->integer ? b : a;
      if (is_constant(b)) return b->integer ? a : b;
      break;
    case BinaryOp::logical_or:
      if (is_constant(a)) return a->integer ? a : b;
      if (is_constant(b)) return b->integer ? b : a;
      break;
    default:
      break;
  }
  return nullptr;
}

std::optional<Dim> as_dim(const Expr& e) {
  if (e->kind == ExprKind::extent) return e->dim;
  if (is_constant(e)) return Dim(e->integer);
  return std::nullopt;
}

/// Keeps arithmetic on extents symbolic, as Dims, because they have a canonical form.
Expr simplify_extents(BinaryOp op, const Expr& a, const Expr& b) {
  const auto da = as_dim(a), db = as_dim(b);
  if (!da || !db) return nullptr;
  switch (op) {
    case BinaryOp::add:
      return extent(*da + *db);
    case BinaryOp::sub:
      return extent(*da - *db);
    case BinaryOp::mul:
      return extent(*da * *db);
    case BinaryOp::max:
      return extent(max(*da, *db));
    case BinaryOp::min:
      return extent(min(*da, *db));
    case BinaryOp::floor_div:
      return db->lower_bound().value_or(0) > 0 ? extent(floor_div(*da, *db)) : nullptr;
    case BinaryOp::mod:
      return db->lower_bound().value_or(0) > 0 ? extent(mod(*da, *db)) : nullptr;
    case BinaryOp::checked_index:
      return da->lower_bound().value_or(-1) >= 0 && (*db - *da).lower_bound().value_or(0) > 0 ? a : nullptr;
    default:
      return nullptr;
  }
}

Expr simplify_binary(BinaryOp op, const Expr& a, const Expr& b) {
  if (!is_float(a->dtype) && is_constant(a) && is_constant(b))
    if (auto r = fold_integers(op, a->dtype, a->integer, b->integer))
      return constant_int(is_comparison(op) ? DType::boolean : a->dtype, *r);
  if (Expr same = simplify_identity(op, a, b)) return same;
  return a->dtype == DType::i64 && b->dtype == DType::i64 ? simplify_extents(op, a, b) : nullptr;
}

DType bits_dtype(DType t) {
  GCG_CHECK(t == DType::f32 || t == DType::f64, "bits of ", name_of(t));
  return t == DType::f32 ? DType::u32 : DType::u64;
}

DType float_of_bits(DType t) {
  GCG_CHECK(t == DType::u32 || t == DType::u64, "a float of bits that are ", name_of(t));
  return t == DType::u32 ? DType::f32 : DType::f64;
}

}  // namespace

Expr constant_float(DType dtype, double value) {
  auto n = make(ExprKind::constant, dtype);
  n->number = dtype == DType::f64 ? value : static_cast<double>(static_cast<float>(value));
  return n;
}

Expr constant_int(DType dtype, int64_t value) {
  if (is_float(dtype)) return constant_float(dtype, static_cast<double>(value));
  auto n = make(ExprKind::constant, dtype);
  n->integer = wrap(dtype, value);
  return n;
}

Expr boolean(bool value) { return constant_int(DType::boolean, value); }

Expr axis_ref(const Axis& axis) {
  if (axis.extent.is(1)) return index(0);
  auto n = make(ExprKind::axis, DType::i64);
  n->axis = axis.id;
  return n;
}

Expr extent(const Dim& dim) {
  if (dim.is_constant()) return index(dim.constant());
  auto n = make(ExprKind::extent, DType::i64);
  n->dim = dim;
  return n;
}

Expr load(int operand, DType dtype, std::vector<Expr> indices) {
  auto n = make(ExprKind::load, dtype, std::move(indices));
  n->operand = operand;
  return n;
}

Expr local_ref(int local, DType dtype) {
  auto n = make(ExprKind::local, dtype);
  n->local = local;
  return n;
}

Expr accumulator(DType dtype) { return make(ExprKind::accumulator, dtype); }

Expr unary(UnaryOp op, Expr a) {
  const bool predicate = op == UnaryOp::is_nan || op == UnaryOp::is_inf || op == UnaryOp::logical_not;
  if (is_constant(a) && !is_float(a->dtype)) {
    if (op == UnaryOp::neg) return constant_int(a->dtype, wrapped_negative(a->integer));
    if (op == UnaryOp::logical_not) return boolean(a->integer == 0);
  }
  if (op == UnaryOp::logical_not && a->kind == ExprKind::unary && a->unary == UnaryOp::logical_not) return a->args[0];
  const DType t = predicate                ? DType::boolean
                  : op == UnaryOp::bits    ? bits_dtype(a->dtype)
                  : op == UnaryOp::of_bits ? float_of_bits(a->dtype)
                                           : a->dtype;
  auto n = make(ExprKind::unary, t, {std::move(a)});
  n->unary = op;
  return n;
}

Expr binary(BinaryOp op, Expr a, Expr b) {
  GCG_CHECK(a->dtype == b->dtype, "binary expression of ", name_of(a->dtype), " and ", name_of(b->dtype));
  if (Expr simple = simplify_binary(op, a, b)) return simple;
  const DType t = is_comparison(op) ? DType::boolean : a->dtype;
  auto n = make(ExprKind::binary, t, {std::move(a), std::move(b)});
  n->binary = op;
  return n;
}

Expr select(Expr condition, Expr then, Expr otherwise) {
  GCG_CHECK(condition->dtype == DType::boolean, "select on ", name_of(condition->dtype));
  GCG_CHECK(then->dtype == otherwise->dtype, "select of ", name_of(then->dtype), " and ", name_of(otherwise->dtype));
  if (is_constant(condition)) return condition->integer ? then : otherwise;
  if (then == otherwise) return then;
  const DType t = then->dtype;
  return make(ExprKind::select, t, {std::move(condition), std::move(then), std::move(otherwise)});
}

Expr cast(DType to, Expr a) {
  if (a->dtype == to) return a;
  if (is_constant(a)) {
    if (!is_float(a->dtype)) {
      if (to == DType::boolean) return boolean(a->integer != 0);
      if (a->dtype != DType::u64) return constant_int(to, a->integer);
    } else if (to == DType::f32 || to == DType::f64) {
      return constant_float(to, a->number);
    }
  }
  return make(ExprKind::cast, to, {std::move(a)});
}

Expr reduce(ReduceOp op, std::vector<Axis> axes, Expr body) {
  std::erase_if(axes, [](const Axis& a) { return a.extent.is(1); });
  if (axes.empty()) return body;
  const DType t = body->dtype;
  auto n = make(ExprKind::reduce, t, {std::move(body)});
  n->reduce = op;
  n->reduce_axes = std::move(axes);
  return n;
}

Expr reduce_identity(ReduceOp op, DType t) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const int64_t bits = size_of(t) * 8;
  const int64_t highest = is_unsigned_int(t)
                              ? (bits == 64 ? -1 : (int64_t{1} << bits) - 1)
                              : (bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (bits - 1)) - 1);
  const int64_t lowest = is_unsigned_int(t) ? 0 : -highest - 1;
  switch (op) {
    case ReduceOp::sum:
      return constant_int(t, 0);
    case ReduceOp::prod:
      return constant_int(t, 1);
    case ReduceOp::max:
      return is_float(t) ? constant_float(t, -inf) : constant_int(t, t == DType::boolean ? 0 : lowest);
    case ReduceOp::min:
      return is_float(t) ? constant_float(t, inf) : constant_int(t, t == DType::boolean ? 1 : highest);
    case ReduceOp::logical_and:
      return constant_int(t, 1);
    case ReduceOp::logical_or:
      return constant_int(t, 0);
  }
  GCG_CHECK(false, "reduction operator");
}

}  // namespace gcg
