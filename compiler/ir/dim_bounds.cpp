// Lower and upper bounds of a Dim.
//
// Interval arithmetic alone ignores that two terms may share atoms: s - s//2 would be unbounded below. Therefore a
// quotient is also replaced by the rational numbers that enclose it, and a maximum by each of its sides. The best bound
// wins.
#include <algorithm>
#include <limits>

#include "compiler/ir/dim.h"
#include "compiler/ir/dim_internal.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

using dim_internal::Bound;
using dim_internal::facts;
using dim_internal::floor_divide;
using dim_internal::Interval;

Bound sum(Bound a, Bound b) {
  if (!a || !b) return std::nullopt;
  int64_t r = 0;
  return __builtin_add_overflow(*a, *b, &r) ? std::nullopt : Bound(r);
}

Bound product(Bound a, Bound b) {
  if (a == 0 || b == 0) return 0;
  if (!a || !b) return std::nullopt;
  int64_t r = 0;
  return __builtin_mul_overflow(*a, *b, &r) ? std::nullopt : Bound(r);
}

// Returns the better of two lower bounds.
Bound larger(Bound a, Bound b) { return !a ? b : !b ? a : Bound(std::max(*a, *b)); }
// Returns the better of two upper bounds.
Bound smaller(Bound a, Bound b) { return !a ? b : !b ? a : Bound(std::min(*a, *b)); }

Interval times(const Interval& a, int64_t k) {
  if (k >= 0) return {product(a.low, k), product(a.high, k)};
  return {product(a.high, k), product(a.low, k)};
}

Interval times(const Interval& a, const Interval& b) {
  if (a.low >= Bound(0) && b.low >= Bound(0)) return {product(a.low, b.low), product(a.high, b.high)};
  if (!a.low || !a.high || !b.low || !b.high) return {};
  Interval out;
  bool first = true;
  for (int64_t x : {*a.low, *a.high})
    for (int64_t y : {*b.low, *b.high}) {
      const Bound p = product(x, y);
      if (!p) return {};
      out = first ? Interval{p, p} : Interval{std::min(*out.low, *p), std::max(*out.high, *p)};
      first = false;
    }
  return out;
}

Bound by_intervals(const Dim& d) {
  Bound low = 0;
  for (const auto& [m, coefficient] : d.terms()) {
    Interval i{1, 1};
    for (const Dim::AtomRef& atom : m) i = times(i, facts(*atom).interval);
    low = sum(low, times(i, coefficient).low);
    if (!low) break;
  }
  return low;
}

/// Searches for a lower bound and stops as soon as one reaches `enough`. Each relaxation replaces an atom and searches
/// again, once per term. Depth and work are limited; the bounds found so far are still valid.
class LowerBound {
 public:
  explicit LowerBound(int64_t enough) : enough_(enough) {}

  Bound of(const Dim& d) {
    if (d.is_constant()) return d.constant();
    Bound best = by_intervals(d);
    for (int depth = 1; depth <= kDepth && work_ > 0 && !(best >= Bound(enough_)); ++depth)
      best = larger(best, lower(d, depth, enough_));
    return best;
  }

 private:
  static constexpr int kDepth = 3;  // nested relaxations

  Bound lower(const Dim& d, int depth, int64_t enough) {
    if (d.is_constant()) return d.constant();
    Bound best = by_intervals(d);
    if (depth == 0 || d.terms().size() < 2) return best;
    for (const auto& [m, coefficient] : d.terms()) {
      if (best >= Bound(enough)) break;
      if (m.size() != 1 || m[0]->kind == Dim::AtomKind::symbol) continue;
      const bool alone = std::count_if(d.terms().begin(), d.terms().end(), [&m = m](const auto& term) {
                           return dim_internal::divide(term.first, m).has_value();
                         }) == 1;
      if (alone && (work_ -= static_cast<int64_t>(d.terms().size())) > 0)
        best = larger(best, relaxed(d, m[0], coefficient, depth - 1));
    }
    return best;
  }

  Bound lower(const Dim& d, int depth) { return lower(d, depth, std::numeric_limits<int64_t>::max()); }

  /// As by_relaxing, but an overflow of 64 bits gives no bound instead of an error.
  Bound relaxed(const Dim& d, const Dim::AtomRef& atom, int64_t coefficient, int depth) {
    try {
      return by_relaxing(d, atom, coefficient, depth);
    } catch (const CompileError&) {
      return std::nullopt;
    }
  }

  /// The bound after replacing one atom by its limits. The atom occurs in `d` only in the term `coefficient` * atom.
  Bound by_relaxing(const Dim& d, const Dim::AtomRef& atom, int64_t coefficient, int depth) {
    const Dim factor(coefficient), rest = d - Dim::from_atom(atom) * factor;
    const auto with = [&](const Dim& by) { return lower(rest + by * factor, depth); };
    switch (atom->kind) {
      case Dim::AtomKind::max:
      case Dim::AtomKind::min: {
        // The atom equals one of its sides. A lower limit of a max follows from either side, and so does an upper limit
        // of a min; the better one counts. In the other direction only the worse of both is valid.
        const Bound a = with(atom->a), b = with(atom->b);
        if ((atom->kind == Dim::AtomKind::max) == (coefficient > 0)) return larger(a, b);
        return a && b ? smaller(a, b) : std::nullopt;
      }
      case Dim::AtomKind::floor_div: {
        // (x - c + 1)/c <= x//c <= x/c
        if (!atom->b.is_constant() || atom->b.constant() <= 0) return std::nullopt;
        const Dim c = atom->b, x = coefficient > 0 ? atom->a - c + Dim(1) : atom->a;
        const Bound scaled = lower(rest * c + x * factor, depth);
        return scaled ? Bound(-floor_divide(-*scaled, c.constant())) : std::nullopt;
      }
      case Dim::AtomKind::mod:  // x % c <= x for x >= 0
        if (coefficient > 0 || !(lower(atom->a, depth) >= Bound(0))) return std::nullopt;
        return with(atom->a);
      default:
        return std::nullopt;
    }
  }

  int64_t enough_;
  int64_t work_ = 1024;  // the number of terms that relaxed expressions may still have
};

}  // namespace

Interval dim_internal::interval_of(Dim::AtomKind kind, const Dim& a_, const Dim& b_) {
  const Interval a{a_.lower_bound(), a_.upper_bound()}, b{b_.lower_bound(), b_.upper_bound()};
  switch (kind) {
    case Dim::AtomKind::max:
      return {larger(a.low, b.low), a.high && b.high ? larger(a.high, b.high) : std::nullopt};
    case Dim::AtomKind::min:
      return {a.low && b.low ? smaller(a.low, b.low) : std::nullopt, smaller(a.high, b.high)};
    case Dim::AtomKind::mod:
      if (b.low >= Bound(0)) return {0, sum(b.high, -1)};
      return {};
    case Dim::AtomKind::floor_div: {
      if (!(b.low >= Bound(0)) || (b.high && *b.high < 1)) return {};
      // a divisor of zero gives no value, so the divisor is at least 1.
      const int64_t least = std::max<int64_t>(*b.low, 1);
      Interval out;
      if (a.low) out.low = *a.low < 0 ? floor_divide(*a.low, least) : b.high ? floor_divide(*a.low, *b.high) : 0;
      if (a.high) out.high = *a.high >= 0 ? floor_divide(*a.high, least) : b.high ? floor_divide(*a.high, *b.high) : -1;
      return out;
    }
    case Dim::AtomKind::symbol:
      break;
  }
  return {0, std::nullopt};
}

bool dim_internal::at_least(const Dim& d, int64_t limit) { return LowerBound(limit).of(d) >= Bound(limit); }

std::optional<int64_t> Dim::lower_bound() const { return LowerBound(std::numeric_limits<int64_t>::max()).of(*this); }

std::optional<int64_t> Dim::upper_bound() const {
  if (is_constant()) return constant();  // the least number of 64 bits has no negative
  const Bound b = (*this * Dim(-1)).lower_bound();
  return b ? product(b, -1) : std::nullopt;
}

}  // namespace gcg
