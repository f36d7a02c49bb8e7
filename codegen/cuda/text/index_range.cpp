#include "codegen/cuda/text/index_range.h"

#include <algorithm>
#include <array>

namespace gcg::cuda {
namespace {

using Bound = std::optional<int64_t>;

Bound sum(Bound a, Bound b) {
  int64_t r = 0;
  return a && b && !__builtin_add_overflow(*a, *b, &r) ? Bound(r) : std::nullopt;
}
Bound subtract(Bound a, Bound b) {
  int64_t r = 0;
  return a && b && !__builtin_sub_overflow(*a, *b, &r) ? Bound(r) : std::nullopt;
}

Interval multiply(const Interval& a, const Interval& b) {
  if (a.is_natural() && b.is_natural() && !(a.high && b.high)) return {0, std::nullopt};
  if (!a.is_known() || !b.is_known()) return {};
  std::array<int64_t, 4> corners{};
  size_t n = 0;
  for (int64_t x : {*a.low, *a.high})
    for (int64_t y : {*b.low, *b.high})
      if (__builtin_mul_overflow(x, y, &corners[n++])) return {};
  return {*std::min_element(corners.begin(), corners.end()), *std::max_element(corners.begin(), corners.end())};
}

/// Covers divisions that round down and divisions that round towards zero. Both agree where nothing is negative.
Interval divide(const Interval& a, const Interval& b) {
  if (!a.is_natural() || !b.low || *b.low < 1) return {};
  return {0, a.high ? Bound(*a.high / *b.low) : std::nullopt};
}

Interval modulo(const Interval& a, const Interval& b) {
  if (!b.low || *b.low < 1) return {};
  const Bound limit = subtract(b.high, 1);
  return {0, a.is_natural() && a.high && (!limit || *a.high < *limit) ? a.high : limit};
}

Interval largest(const Interval& a, const Interval& b) {
  Interval r;
  if (a.low || b.low) r.low = std::max(a.low.value_or(INT64_MIN), b.low.value_or(INT64_MIN));
  if (a.high && b.high) r.high = std::max(*a.high, *b.high);
  return r;
}
Interval smallest(const Interval& a, const Interval& b) {
  Interval r;
  if (a.high || b.high) r.high = std::min(a.high.value_or(INT64_MAX), b.high.value_or(INT64_MAX));
  if (a.low && b.low) r.low = std::min(*a.low, *b.low);
  return r;
}
Interval either(const Interval& a, const Interval& b) {
  Interval r;
  if (a.low && b.low) r.low = std::min(*a.low, *b.low);
  if (a.high && b.high) r.high = std::max(*a.high, *b.high);
  return r;
}

}  // namespace

Interval interval_of(const Dim& dim) { return {dim.lower_bound(), dim.upper_bound()}; }

Interval interval_of_axis(const Dim& extent) {
  const Bound high = extent.upper_bound();
  return {0, high ? Bound(std::max<int64_t>(0, *high - 1)) : std::nullopt};
}

IndexRanges::IndexRanges(const Kernel& kernel) {
  if (const auto* loop = std::get_if<LoopKernel>(&kernel.body)) {
    add(loop->outer);
    for (const Stage& stage : loop->stages) {
      add(stage.axes);
      add_reductions(stage.value);
      for (const Expr& i : stage.index) add_reductions(i);
    }
  } else if (const auto* matmul = std::get_if<MatMulKernel>(&kernel.body)) {
    add(matmul->batch);
    add({matmul->m, matmul->n, matmul->k});
    add_reductions(matmul->epilogue);
  } else if (const auto* conv = std::get_if<PlainConvKernel>(&kernel.body)) {
    add({conv->n, conv->channel});
    add(conv->position);
    add_reductions(conv->epilogue);
  } else if (const auto* program = std::get_if<ProgramKernel>(&kernel.body)) {
    add(program->outer);
    each_statement(program->body, [&](const Statement& s) {
      if (s.begin || is_launch(s)) add(s.axis);
      each_expr(s, [&](const Expr& e) { add_reductions(e); });
    });
  }
}

void IndexRanges::add_reductions(const Expr& e) {
  visit(e, [&](const ExprNode& n) { add(n.reduce_axes); });
}

Interval IndexRanges::of_axis(int id) const {
  const auto it = axes_.find(id);
  return it == axes_.end() ? Interval{} : it->second;
}

Interval IndexRanges::of(const Expr& e) {
  if (const auto it = known_.find(e); it != known_.end()) return it->second;
  return known_[e] = compute(*e);
}

Interval IndexRanges::compute(const ExprNode& e) {
  switch (e.kind) {
    case ExprKind::constant:
      return {e.integer, e.integer};
    case ExprKind::axis:
      return of_axis(e.axis);
    case ExprKind::extent:
      return interval_of(e.dim);
    case ExprKind::binary:
      return of_binary(e);
    case ExprKind::select:
      return either(of(e.args[1]), of(e.args[2]));
    case ExprKind::unary: {
      if (e.unary != UnaryOp::neg) return {};
      const Interval a = of(e.args[0]);
      return {subtract(0, a.high), subtract(0, a.low)};
    }
    case ExprKind::cast: {
      const DType from = e.args[0]->dtype;
      if (from == DType::boolean) return {0, 1};
      if (!is_int(from) || size_of(from) >= 8) return {};
      const int64_t end = int64_t{1} << (8 * size_of(from) - (is_signed_int(from) ? 1 : 0));
      return {is_signed_int(from) ? -end : 0, end - 1};
    }
    default:
      return {};
  }
}

Interval IndexRanges::of_binary(const ExprNode& e) {
  if (e.dtype != DType::i64 || e.args[0]->dtype != DType::i64) return {};
  const Interval a = of(e.args[0]), b = of(e.args[1]);
  switch (e.binary) {
    case BinaryOp::add:
      return {sum(a.low, b.low), sum(a.high, b.high)};
    case BinaryOp::sub:
      return {subtract(a.low, b.high), subtract(a.high, b.low)};
    case BinaryOp::mul:
      return multiply(a, b);
    case BinaryOp::div:
    case BinaryOp::floor_div:
      return divide(a, b);
    case BinaryOp::mod:
      return modulo(a, b);
    case BinaryOp::max:
      return largest(a, b);
    case BinaryOp::min:
      return smallest(a, b);
    case BinaryOp::checked_index:
      return {0, b.high ? Bound(std::max<int64_t>(0, *b.high - 1)) : std::nullopt};
    default:
      return {};
  }
}

}  // namespace gcg::cuda
