// Lower and upper bounds of a Dim.
//
// Interval arithmetic alone loses what two terms have in common (s - s//2 would be unbounded below), so a quotient is
// also replaced by the rational numbers it lies between, and a maximum by each of its sides; the best bound wins.
#include <algorithm>

#include "compiler/ir/dim.h"
#include "compiler/ir/dim_internal.h"

namespace gcg {
namespace {

using dim_internal::floor_divide;
using Bound = std::optional<int64_t>;  // nullopt: unlimited on that side

struct Interval {
  Bound low, high;
};

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

Bound larger(Bound a, Bound b) { return !a ? b : !b ? a : Bound(std::max(*a, *b)); }    // of two lower bounds
Bound smaller(Bound a, Bound b) { return !a ? b : !b ? a : Bound(std::min(*a, *b)); }   // of two upper bounds

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

constexpr int kDepth = 3;  // nested relaxations; each at most doubles the work

Bound lower(const Dim& d, int depth);
Bound upper(const Dim& d, int depth) {
  const Bound b = lower(d * Dim(-1), depth);
  return b ? product(b, -1) : std::nullopt;
}

Interval interval(const Dim::Atom& atom, int depth) {
  if (atom.kind == Dim::AtomKind::symbol) return {0, std::nullopt};
  const Interval a{lower(atom.a, depth), upper(atom.a, depth)}, b{lower(atom.b, depth), upper(atom.b, depth)};
  switch (atom.kind) {
    case Dim::AtomKind::max: return {larger(a.low, b.low), a.high && b.high ? larger(a.high, b.high) : std::nullopt};
    case Dim::AtomKind::min: return {a.low && b.low ? smaller(a.low, b.low) : std::nullopt, smaller(a.high, b.high)};
    case Dim::AtomKind::mod:
      if (b.low >= Bound(0)) return {0, sum(b.high, -1)};
      return {};
    case Dim::AtomKind::floor_div: {
      if (!(b.low >= Bound(0))) return {};
      const int64_t least = std::max<int64_t>(*b.low, 1);  // a zero divisor has no value at all
      Interval out;
      if (a.low) out.low = *a.low < 0 ? floor_divide(*a.low, least) : b.high ? floor_divide(*a.low, *b.high) : 0;
      if (a.high) out.high = *a.high >= 0 ? floor_divide(*a.high, least) : b.high ? floor_divide(*a.high, *b.high) : -1;
      return out;
    }
    case Dim::AtomKind::symbol: break;
  }
  return {};
}

Bound by_intervals(const Dim& d, int depth) {
  Bound low = 0;
  for (const auto& [m, coefficient] : d.terms()) {
    Interval i{1, 1};
    for (const Dim::AtomRef& atom : m) i = times(i, interval(*atom, depth));
    low = sum(low, times(i, coefficient).low);
    if (!low) break;
  }
  return low;
}

Dim replace_atom(const Dim& d, const Dim::AtomRef& atom, const Dim& by) {
  return dim_internal::rebuild(d, [&](const Dim::Atom& other) {
    const Dim same = Dim::from_atom(std::make_shared<const Dim::Atom>(other));
    return same == Dim::from_atom(atom) ? by : same;
  });
}

/// The bound from treating one atom, whose only monomial is itself times `coefficient`, by what it lies between.
Bound by_relaxing(const Dim& d, const Dim::AtomRef& atom, int64_t coefficient, int depth) {
  const Dim self = Dim::from_atom(atom);
  switch (atom->kind) {
    case Dim::AtomKind::max:
    case Dim::AtomKind::min: {
      // The atom equals one of its sides. If the bound profits from the larger (smaller) side, either will do.
      const Bound a = lower(replace_atom(d, atom, atom->a), depth), b = lower(replace_atom(d, atom, atom->b), depth);
      if ((atom->kind == Dim::AtomKind::max) == (coefficient > 0)) return larger(a, b);
      return a && b ? smaller(a, b) : std::nullopt;
    }
    case Dim::AtomKind::floor_div: {
      // (x - c + 1)/c <= x//c <= x/c
      if (!atom->b.is_constant() || atom->b.constant() <= 0) return std::nullopt;
      const Dim c = atom->b, rest = d - self * Dim(coefficient);
      const Dim x = coefficient > 0 ? atom->a - c + Dim(1) : atom->a;
      const Bound scaled = lower(rest * c + x * Dim(coefficient), depth);
      return scaled ? Bound(-floor_divide(-*scaled, c.constant())) : std::nullopt;
    }
    case Dim::AtomKind::mod:  // x % c <= x for x >= 0
      if (coefficient > 0 || !(lower(atom->a, depth) >= Bound(0))) return std::nullopt;
      return lower(replace_atom(d, atom, atom->a), depth);
    default: return std::nullopt;
  }
}

Bound lower(const Dim& d, int depth) {
  if (d.is_constant()) return d.constant();
  Bound best = by_intervals(d, depth);
  if (depth == 0 || d.terms().size() < 2) return best;
  for (const auto& [m, coefficient] : d.terms()) {
    if (m.size() != 1 || m[0]->kind == Dim::AtomKind::symbol) continue;
    const bool alone = std::count_if(d.terms().begin(), d.terms().end(), [&](const auto& term) {
                         return dim_internal::divide(term.first, m).has_value();
                       }) == 1;
    if (alone) best = larger(best, by_relaxing(d, m[0], coefficient, depth - 1));
  }
  return best;
}

}  // namespace

std::optional<int64_t> Dim::lower_bound() const { return lower(*this, kDepth); }
std::optional<int64_t> Dim::upper_bound() const { return is_constant() ? constant() : upper(*this, kDepth); }

}  // namespace gcg
