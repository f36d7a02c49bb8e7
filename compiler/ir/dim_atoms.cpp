// Simplifies quotients, remainders, maxima and minima of Dims until only atoms are left.
//
// A quotient a // b is simplified in three steps. First, polynomial division takes multiples of b out of a, so (64*s +
// 5) // 64 = s. Then common factors of the rest are cancelled. Finally, the quotient disappears if bounds determine it.
// A maximum is a flat, sorted list of sides, none of which is provably below another. Terms that all sides have are
// moved out of it.
#include <algorithm>
#include <numeric>

#include "compiler/ir/dim.h"
#include "compiler/ir/dim_internal.h"
#include "compiler/support/error.h"

namespace gcg {

using namespace dim_internal;

namespace {

using AtomKind = Dim::AtomKind;

Dim make_atom(AtomKind kind, const Dim& a, const Dim& b) { return Dim::from_atom(intern({kind, {}, a, b})); }

struct Division {
  Dim quotient, remainder;  // a = quotient * b + remainder
};

/// Polynomial division by one divisor; coefficients are divided with rounding down.
Division divide_polynomials(const Dim& a, const Dim& b) {
  const auto& [lead, lead_coefficient] = *b.terms().begin();
  Division out;
  Dim undivided = a;
  while (!undivided.terms().empty()) {
    const auto [m, coefficient] = *undivided.terms().begin();
    const Dim term = monomial(m, coefficient);
    const auto factor = divide(m, lead);
    const int64_t times = factor ? floor_divide(coefficient, lead_coefficient) : 0;
    if (times == 0) {
      out.remainder = out.remainder + term;
      undivided = undivided - term;
      continue;
    }
    const Dim q = monomial(*factor, times);
    out.quotient = out.quotient + q;
    undivided = undivided - q * b;
    // The part of the coefficient that the divisor does not divide moves to the remainder and stays there.
    const Dim left = monomial(m, modulo(coefficient, lead_coefficient));
    out.remainder = out.remainder + left;
    undivided = undivided - left;
  }
  return out;
}

/// 0 if 0 <= r < b, -1 if -b <= r < 0; else nullopt. Requires: b is never negative.
std::optional<int64_t> small_quotient(const Dim& r, const Dim& b) {
  if (r.is(0)) return 0;
  if (at_least(r, 0)) return at_least(b - r, 1) ? std::optional<int64_t>(0) : std::nullopt;
  const auto high = r.upper_bound();
  if (high && *high < 0 && at_least(b + r, 0)) return -1;
  if (!b.is_constant()) return std::nullopt;
  const auto low = r.lower_bound();
  if (!low || !high) return std::nullopt;
  const int64_t q = floor_divide(*low, b.constant());
  return q == floor_divide(*high, b.constant()) ? std::optional(q) : std::nullopt;
}

/// The common factor of all terms of `r` and `b`. If b is never negative, the constant term of `r` need not have it.
Dim content(const Dim& r, const Dim& b) {
  std::optional<Dim::Monomial> common;
  int64_t divisor = 0;
  bool constant_term = false;
  const bool positive = at_least(b, 0);
  const auto see = [&](const Dim& d, bool skip_constant) {
    for (const auto& [m, coefficient] : d.terms()) {
      if (skip_constant && m.empty()) {
        constant_term = true;
        if (!positive) divisor = std::gcd(divisor, coefficient);
        continue;
      }
      divisor = std::gcd(divisor, coefficient);
      common = common ? common_factor(*common, m) : m;
    }
  };
  see(r, true);
  see(b, false);
  return monomial(constant_term ? Dim::Monomial{} : *common, divisor);
}

Dim exact_quotient(const Dim& a, const Dim& b) { return divide_polynomials(a, b).quotient; }

/// True if the leading coefficient is negative. Then a // b becomes (-a) // (-b), so that equal quotients have one
/// form.
bool is_negative(const Dim& d) { return d.terms().begin()->second < 0; }

Dim constant_term(const Dim& d) {
  return d.terms().empty() || !d.terms().rbegin()->first.empty() ? Dim() : Dim(d.terms().rbegin()->second);
}

/// If r is a quotient by a constant, plus a number: (x // a) // b becomes x // (a*b).
std::optional<Dim> merge_quotients(const Dim& r, const Dim& b) {
  if (!b.is_constant()) return std::nullopt;
  const Dim k = constant_term(r);
  const Dim::AtomRef atom = sole_atom(r - k);
  if (!atom || atom->kind != AtomKind::floor_div || !atom->b.is_constant() || atom->b.constant() < 0)
    return std::nullopt;
  int64_t divisor = 0, offset = 0;
  if (__builtin_mul_overflow(atom->b.constant(), b.constant(), &divisor) ||
      __builtin_mul_overflow(atom->b.constant(), k.constant(), &offset))
    return std::nullopt;
  return floor_div(atom->a + Dim(offset), Dim(divisor));
}

/// Replaces every x % (b*c) in `r` by x, which is equal modulo b.
Dim without_inner_mods(const Dim& r, const Dim& b) {
  return rebuild(r, [&](const Dim::AtomRef& atom) {
    if (atom->kind == AtomKind::mod && divide_polynomials(atom->b, b).remainder.is(0))
      return without_inner_mods(atom->a, b);
    return Dim::from_atom(atom);
  });
}

// ---- Maximum and minimum --------------------------------------------------------------------------------------------

/// No tensor has this many elements, since addresses have fewer bits. Exporters write such numbers for "to the end".
constexpr int64_t kUnlimited = int64_t{1} << 52;

bool is_unlimited(const Dim& d) {
  return d.is_constant() && (d.constant() >= kUnlimited || d.constant() <= -kUnlimited);
}

/// True if provably a >= b for all values of the symbols.
bool never_below(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return a.constant() >= b.constant();
  if (is_unlimited(a)) return a.constant() > 0;
  if (is_unlimited(b)) return b.constant() < 0;
  return at_least(a - b, 0);
}

constexpr size_t kMostSides = 8;  // Sides are compared in pairs. If there are more sides than this, none is compared.

/// The sides of `d` as part of a max or min: max(x, k*max(a,b) + c) has the sides x, k*a + c and k*b + c, for k > 0.
/// Stops if there are too many sides.
void flatten(AtomKind kind, const Dim& d, std::vector<Dim>& sides) {
  if (sides.size() > kMostSides) return;
  Dim::AtomRef found;
  int64_t factor = 0, count = 0;
  for (const auto& [m, coefficient] : d.terms())
    if (m.size() == 1 && m[0]->kind == kind && coefficient > 0) {
      found = m[0];
      factor = coefficient;
      ++count;
    }
  if (count != 1) {
    sides.push_back(d);
    return;
  }
  const Dim other_terms = d - Dim::from_atom(found) * Dim(factor);
  flatten(kind, found->a * Dim(factor) + other_terms, sides);
  flatten(kind, found->b * Dim(factor) + other_terms, sides);
}

/// Drops every side that another side dominates.
std::vector<Dim> undominated(AtomKind kind, const std::vector<Dim>& sides) {
  std::vector<Dim> out;
  const auto superfluous = [&](const Dim& d, const Dim& other) {
    return kind == AtomKind::max ? never_below(other, d) : never_below(d, other);
  };
  for (const Dim& d : sides) {
    if (std::any_of(out.begin(), out.end(), [&](const Dim& o) { return superfluous(d, o); })) continue;
    std::erase_if(out, [&](const Dim& o) { return superfluous(o, d); });
    out.push_back(d);
  }
  return out;
}

/// The terms that all sides have, with equal coefficients.
Dim common_terms(const std::vector<Dim>& sides) {
  Dim out;
  for (const auto& [m, coefficient] : sides[0].terms()) {
    const bool everywhere = std::all_of(sides.begin(), sides.end(), [&m = m, &c = coefficient](const Dim& d) {
      const auto it = d.terms().find(m);
      return it != d.terms().end() && it->second == c;
    });
    if (everywhere) out = out + monomial(m, coefficient);
  }
  return out;
}

Dim extremum(AtomKind kind, const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) {
    const bool first = kind == AtomKind::max ? a.constant() >= b.constant() : a.constant() <= b.constant();
    return first ? a : b;
  }
  std::vector<Dim> sides;
  flatten(kind, a, sides);
  flatten(kind, b, sides);
  if (sides.size() > kMostSides) sides = {a, b};
  sides = undominated(kind, sides);
  const Dim common = common_terms(sides);
  int64_t factor = 0;
  for (Dim& d : sides) {
    d = d - common;
    for (const auto& [m, coefficient] : d.terms()) factor = std::gcd(factor, coefficient);
  }
  if (factor == 0) return common;
  for (Dim& d : sides) d = exact_quotient(d, Dim(factor));
  std::sort(sides.begin(), sides.end());
  Dim out = sides.back();
  for (size_t i = sides.size() - 1; i-- > 0;) out = make_atom(kind, sides[i], out);
  return common + out * Dim(factor);
}

}  // namespace

Dim floor_div(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(floor_divide(a.constant(), b.constant()));
  if (b.is(0)) fail("dimension arithmetic: ", a.str(), " // 0");
  if (is_negative(b)) return floor_div(a * Dim(-1), b * Dim(-1));
  const auto [quotient, r] = divide_polynomials(a, b);
  if (const auto q = small_quotient(r, b)) return quotient + Dim(*q);
  if (const Dim g = content(r, b); !g.is(1)) {
    // floor((g*x + k) / (g*c)) = floor((x + k//g) / c)
    const Dim k = g.is_constant() ? constant_term(r) : Dim();
    const Dim x = exact_quotient(r - k, g) + (g.is_constant() ? floor_div(k, g) : Dim());
    return quotient + floor_div(x, exact_quotient(b, g));
  }
  if (const auto merged = merge_quotients(r, b)) return quotient + *merged;
  return quotient + make_atom(AtomKind::floor_div, r, b);
}

Dim ceil_div(const Dim& a, const Dim& b) { return floor_div(a + b - Dim(1), b); }

Dim mod(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(modulo(a.constant(), b.constant()));
  if (b.is(0)) fail("dimension arithmetic: ", a.str(), " % 0");
  if (is_negative(b)) return mod(a * Dim(-1), b * Dim(-1)) * Dim(-1);
  const Dim r = divide_polynomials(without_inner_mods(a, b), b).remainder;
  if (const auto q = small_quotient(r, b)) return r - Dim(*q) * b;
  if (const Dim g = content(r, b); !g.is(1)) {
    // (g*x + k) % (g*c) = g * ((x + k//g) % c) + k % g
    const Dim k = g.is_constant() ? constant_term(r) : Dim();
    const Dim x = exact_quotient(r - k, g) + (g.is_constant() ? floor_div(k, g) : Dim());
    return g * mod(x, exact_quotient(b, g)) + (g.is_constant() ? mod(k, g) : Dim());
  }
  return make_atom(AtomKind::mod, r, b);
}

Dim max(const Dim& a, const Dim& b) { return extremum(AtomKind::max, a, b); }
Dim min(const Dim& a, const Dim& b) { return extremum(AtomKind::min, a, b); }

Dim dim_internal::combine(AtomKind kind, const Dim& a, const Dim& b) {
  switch (kind) {
    case AtomKind::floor_div:
      return floor_div(a, b);
    case AtomKind::mod:
      return mod(a, b);
    case AtomKind::max:
      return max(a, b);
    case AtomKind::min:
      return min(a, b);
    case AtomKind::symbol:
      break;
  }
  GCG_CHECK(false, "a symbol has no sides");
  return {};
}

}  // namespace gcg
