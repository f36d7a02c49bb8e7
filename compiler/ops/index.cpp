#include "compiler/ops/index.h"

#include <unordered_map>

namespace gcg {
namespace {

Shape slice(const Shape& shape, size_t begin, size_t end) {
  return {shape.begin() + static_cast<std::ptrdiff_t>(begin), shape.begin() + static_cast<std::ptrdiff_t>(end)};
}

/// A run of dimensions [to, to + to_count) that holds the same elements as [from, from + from_count).
struct DimensionRun {
  size_t to, to_count, from, from_count;
};

/// The shortest run at (to, from). Extents of 1 form their own runs. If no shorter run matches, the rest is one run,
/// because the products of the whole shapes are equal even if this cannot be proved.
DimensionRun next_run(const Shape& to, size_t t, const Shape& from, size_t f) {
  const size_t most_to = to.size() - t, most_from = from.size() - f;
  if (most_from > 0 && from[f].is(1)) return {t, 0, f, 1};
  if (most_to > 0 && to[t].is(1)) return {t, 1, f, 0};
  for (size_t total = 2; total < most_to + most_from; ++total)
    for (size_t n = 1; n < total; ++n) {
      const size_t m = total - n;
      if (n <= most_to && m <= most_from && product(slice(to, t, t + n)) == product(slice(from, f, f + m)))
        return {t, n, f, m};
    }
  return {t, most_to, f, most_from};
}

/// The number of equal trailing dimensions.
size_t equal_tail(const Shape& to, const Shape& from) {
  size_t n = 0;
  while (n < to.size() && n < from.size() && to[to.size() - 1 - n] == from[from.size() - 1 - n]) ++n;
  return n;
}

}  // namespace

Expr LowerContext::flat_input(int i, const Expr& position) { return input(i, delinearize(position, input_shape(i))); }

bool never_empty(const Dim& extent) { return extent.lower_bound().value_or(0) >= 1; }

bool never_empty(const Shape& shape) {
  for (const Dim& d : shape)
    if (!never_empty(d)) return false;
  return true;
}

Expr linearize(const Index& at, const Shape& shape) {
  Expr position = index(0);
  for (size_t d = 0; d < shape.size(); ++d) position = position * extent(shape[d]) + at[d];
  return position;
}

Index delinearize(Expr position, const Shape& shape) {
  Index at(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    const bool outermost = d == 0;
    at[d] = outermost ? position : binary(BinaryOp::mod, position, extent(shape[d]));
    if (!outermost) position = binary(BinaryOp::floor_div, position, extent(shape[d]));
  }
  return at;
}

Index reshape_index(const Index& at, const Shape& to, const Shape& from) {
  const size_t tail = equal_tail(to, from);
  const Shape to_head = slice(to, 0, to.size() - tail), from_head = slice(from, 0, from.size() - tail);
  Index result;
  for (size_t t = 0, f = 0; t < to_head.size() || f < from_head.size();) {
    const DimensionRun g = next_run(to_head, t, from_head, f);
    const Index part(at.begin() + static_cast<std::ptrdiff_t>(g.to),
                     at.begin() + static_cast<std::ptrdiff_t>(g.to + g.to_count));
    const Expr position = linearize(part, slice(to_head, g.to, g.to + g.to_count));
    const Index there = delinearize(position, slice(from_head, g.from, g.from + g.from_count));
    result.insert(result.end(), there.begin(), there.end());
    t += g.to_count;
    f += g.from_count;
  }
  result.insert(result.end(), at.end() - static_cast<std::ptrdiff_t>(tail), at.end());
  return result;
}

Expr clamp_index(const Expr& i, const Dim& size) {
  if (size.is(1)) return index(0);
  return binary(BinaryOp::max, binary(BinaryOp::min, i, extent(size - 1)), index(0));
}

Expr wrap_index(const Expr& i, const Dim& size) {
  return select(binary(BinaryOp::less, i, index(0)), i + extent(size), i);
}

Expr in_range(const Expr& i, const Dim& low, const Dim& high) {
  return binary(BinaryOp::logical_and, binary(BinaryOp::greater_equal, i, extent(low)),
                binary(BinaryOp::less, i, extent(high)));
}

Expr guarded(const Expr& root) {
  std::unordered_map<const ExprNode*, Expr> done;
  std::function<Expr(const Expr&)> go = [&](const Expr& e) -> Expr {
    if (auto it = done.find(e.get()); it != done.end()) return it->second;
    auto copy = std::make_shared<ExprNode>(*e);
    for (Expr& a : copy->args) a = go(a);
    if (copy->kind == ExprKind::load) copy->guarded = true;
    return done.emplace(e.get(), std::move(copy)).first->second;
  };
  return go(root);
}

Expr integer_input(LowerContext& ctx, int i, const Index& at) {
  const Value& value = ctx.input_value(i);
  const bool single = value.shape && product(*value.shape).is(1);
  if (single && value.constant) return index(value.constant->at_int(0));
  if (single && value.contents) return extent(value.contents->front());
  return cast(DType::i64, ctx.input(i, at));
}

}  // namespace gcg
