// Linear algebra on index expressions: finds strides, and removes quotients and remainders.
#include <algorithm>

#include "compiler/kernel/expr.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// base + sum(coefficient * term); terms are atoms of index arithmetic: axes, loads, quotients that did not simplify.
struct Linear {
  Dim base;
  std::vector<std::pair<Expr, Dim>> terms;

  void add(const Expr& term, const Dim& coefficient) {
    const std::string k = key(term);
    for (auto it = terms.begin(); it != terms.end(); ++it)
      if (it->first == term || key(it->first) == k) {
        it->second = it->second + coefficient;
        if (it->second.is(0)) terms.erase(it);
        return;
      }
    if (!coefficient.is(0)) terms.emplace_back(term, coefficient);
  }
};

Linear to_linear(const Expr& e) {
  Linear out;
  if (e->kind == ExprKind::constant) {
    out.base = Dim(e->integer);
    return out;
  }
  if (e->kind == ExprKind::extent) {
    out.base = e->dim;
    return out;
  }
  if (e->kind == ExprKind::binary) {
    const bool add = e->binary == BinaryOp::add, sub = e->binary == BinaryOp::sub;
    if (add || sub) {
      out = to_linear(e->args[0]);
      const Linear b = to_linear(e->args[1]);
      const Dim sign(add ? 1 : -1);
      out.base = out.base + b.base * sign;
      for (const auto& [t, c] : b.terms) out.add(t, c * sign);
      return out;
    }
    if (e->binary == BinaryOp::mul) {
      Linear a = to_linear(e->args[0]), b = to_linear(e->args[1]);
      if (!a.terms.empty()) std::swap(a, b);
      if (a.terms.empty()) {
        out.base = a.base * b.base;
        for (const auto& [t, c] : b.terms) out.add(t, c * a.base);
        return out;
      }
    }
  }
  out.add(e, Dim(1));
  return out;
}

Expr from_linear(const Linear& l) {
  Expr sum = nullptr;
  for (const auto& [t, c] : l.terms) {
    Expr term = t * extent(c);
    sum = sum ? sum + term : term;
  }
  if (!sum) return extent(l.base);
  return l.base.is(0) ? sum : sum + extent(l.base);
}

using Extents = std::map<int, Dim>;

bool never_negative(const Dim& d) { return d.lower_bound().value_or(-1) >= 0; }

/// The largest value of an expression over non-empty axes. Nullopt unless the expression is provably never negative.
std::optional<Dim> upper_limit(const Expr& e, const Extents& extents);

/// Simplifies `d`, an extent that is above zero: max(0, x) becomes x, also within a quotient.
Dim where_positive(const Dim& d) {
  Dim number = 0;
  Dim::AtomRef atom;
  for (const auto& [atoms, coefficient] : d.terms()) {
    if (atoms.empty()) {
      number = coefficient;
    } else if (atom || atoms.size() != 1 || coefficient != 1) {
      return d;
    } else {
      atom = atoms[0];
    }
  }
  if (atom && atom->kind == Dim::AtomKind::max) {
    for (const auto& [side, other] : {std::pair(atom->a, atom->b), std::pair(atom->b, atom->a)})
      if (other.is_constant() && (other + number).constant() <= 0) return side + number;
  }
  if (atom && atom->kind == Dim::AtomKind::floor_div && atom->b.is_constant() && atom->b.constant() > 0) {
    const Dim below = atom->b * (Dim(1) - number) - Dim(1);  // the dividend is larger than this
    return floor_div(where_positive(atom->a - below) + below, atom->b) + number;
  }
  return d;
}

std::optional<Dim> upper_limit(const Linear& l, const Extents& extents) {
  if (!never_negative(l.base)) return std::nullopt;
  Dim limit = l.base;
  for (const auto& [t, c] : l.terms) {
    if (!never_negative(c)) return std::nullopt;
    auto u = upper_limit(t, extents);
    if (!u) return std::nullopt;
    limit = limit + *u * c;
  }
  return limit;
}

std::optional<Dim> upper_limit(const Expr& e, const Extents& extents) {
  if (e->kind == ExprKind::axis) {
    auto it = extents.find(e->axis);
    return it == extents.end() ? std::nullopt : std::optional(where_positive(it->second) - Dim(1));
  }
  if (e->kind == ExprKind::binary && (e->binary == BinaryOp::floor_div || e->binary == BinaryOp::mod)) {
    const Linear d = to_linear(e->args[1]);
    if (!d.terms.empty() || !never_negative(d.base)) return std::nullopt;
    if (e->binary == BinaryOp::mod) return d.base - Dim(1);
    auto u = upper_limit(to_linear(e->args[0]), extents);
    return u && d.base.lower_bound().value_or(0) > 0 ? std::optional(floor_div(*u, d.base)) : std::nullopt;
  }
  const bool is_product = e->kind == ExprKind::binary && e->binary == BinaryOp::mul;
  if (e->kind != ExprKind::constant && e->kind != ExprKind::extent && !is_product &&
      !(e->kind == ExprKind::binary && e->binary == BinaryOp::add))
    return std::nullopt;
  const Linear l = to_linear(e);
  const bool is_a_term = l.terms.size() == 1 && l.terms.begin()->first == e;
  if (!is_a_term) return upper_limit(l, extents);
  if (!is_product) return std::nullopt;
  const auto a = upper_limit(to_linear(e->args[0]), extents), b = upper_limit(to_linear(e->args[1]), extents);
  return a && b ? std::optional(*a * *b) : std::nullopt;
}

bool divisible(const Dim& value, const Dim& divisor, Dim& quotient) {
  if (divisor.is(0)) return false;
  if (value == divisor) {
    quotient = Dim(1);
    return true;
  }
  quotient = floor_div(value, divisor);
  return quotient * divisor == value;
}

/// Simplifies a / b or a % b by a common factor. If a = c*high + low with 0 <= low < c, and c divides b, then a / b =
/// high / (b/c) and a % b = c * (high % (b/c)) + low. Example: in (channel*area + place) / (n*area) this leaves channel
/// / n.
Expr divide_in_parts(BinaryOp op, const Linear& a, const Dim& b, const Extents& extents) {
  for (const auto& candidate : a.terms) {
    const Dim c = candidate.second;
    Dim quotient, parts;
    if (c.is(1) || c == b || !divisible(b, c, parts)) continue;
    Linear high, low;
    (divisible(a.base, c, quotient) ? high.base : low.base) = divisible(a.base, c, quotient) ? quotient : a.base;
    for (const auto& [t, coefficient] : a.terms) {
      if (divisible(coefficient, c, quotient))
        high.add(t, quotient);
      else
        low.add(t, coefficient);
    }
    const auto limit = upper_limit(low, extents);
    if (!limit || !never_negative(c - Dim(1) - *limit)) continue;
    const Expr part = simplify_index(binary(op, from_linear(high), extent(parts)), extents);
    return op == BinaryOp::floor_div ? part : from_linear(to_linear(part * extent(c) + from_linear(low)));
  }
  return nullptr;
}

/// Simplifies a / b or a % b if b is free of axes.
Expr divide(BinaryOp op, const Expr& a, const Expr& b, const Extents& extents) {
  const Linear l = to_linear(a), d = to_linear(b);
  if (!d.terms.empty()) return nullptr;
  Linear quotient, remainder;
  Dim q;
  // The constant part is split as well: (j + 3*c + r) / c = 3 + (j + r)/c.
  if (l.base.is_constant() && d.base.is_constant() && d.base.constant() > 0) {
    quotient.base = floor_div(l.base, d.base);
    remainder.base = mod(l.base, d.base);
  } else if (divisible(l.base, d.base, q)) {
    quotient.base = q;
  } else {
    remainder.base = l.base;
  }
  for (const auto& [t, c] : l.terms) {
    if (divisible(c, d.base, q))
      quotient.add(t, q);
    else
      remainder.add(t, c);
  }
  const auto limit = upper_limit(remainder, extents);
  const bool small = limit && never_negative(d.base - Dim(1) - *limit);
  if (small) return from_linear(op == BinaryOp::floor_div ? quotient : remainder);
  if (Expr parts = divide_in_parts(op, remainder, d.base, extents))
    return op == BinaryOp::mod ? parts : from_linear(to_linear(from_linear(quotient) + parts));
  if (op == BinaryOp::mod) {
    Expr r = from_linear(remainder);
    // (x % (c*d)) % d = x % d
    if (r->kind == ExprKind::binary && r->binary == BinaryOp::mod) {
      const Linear inner = to_linear(r->args[1]);
      if (inner.terms.empty() && divisible(inner.base, d.base, q)) return binary(BinaryOp::mod, r->args[0], b);
    }
    return binary(BinaryOp::mod, r, b);
  }
  if (quotient.terms.empty() && quotient.base.is(0)) return nullptr;
  if (limit == std::nullopt) return nullptr;  // with a negative remainder the quotient would round differently
  return from_linear(quotient) + binary(BinaryOp::floor_div, from_linear(remainder), b);
}

/// If the index is known to be in range, returns it without its check, its clamp, or its test whether it counts from
/// the end. Otherwise returns null.
Expr known_inside(const Expr& e, const Extents& extents) {
  if (e->kind == ExprKind::select) {
    const Expr& test = e->args[0];
    const bool is_negative = test->kind == ExprKind::binary && test->binary == BinaryOp::less &&
                             test->args[1]->kind == ExprKind::constant && test->args[1]->integer == 0;
    return is_negative && test->args[0]->dtype == DType::i64 && upper_limit(to_linear(test->args[0]), extents)
               ? e->args[2]
               : nullptr;
  }
  if (e->kind != ExprKind::binary) return nullptr;
  const bool checks = e->binary == BinaryOp::checked_index, clamps = e->binary == BinaryOp::min;
  if (!checks && !clamps && e->binary != BinaryOp::max) return nullptr;
  const auto limit = upper_limit(to_linear(e->args[0]), extents);
  const Linear bound = to_linear(e->args[1]);
  if (!limit || !bound.terms.empty()) return nullptr;
  if (e->binary == BinaryOp::max) return bound.base.is(0) ? e->args[0] : nullptr;
  return never_negative(bound.base - Dim(checks ? 1 : 0) - *limit) ? e->args[0] : nullptr;
}

}  // namespace

std::optional<Affine> as_affine(const Expr& e) {
  if (e->dtype != DType::i64) return std::nullopt;
  const Linear l = to_linear(e);
  Affine out;
  out.base = l.base;
  for (const auto& [t, c] : l.terms) {
    if (t->kind != ExprKind::axis) return std::nullopt;
    out.strides[t->axis] = c;
  }
  return out;
}

Expr simplify_index(const Expr& root, const std::map<int, Dim>& extents) {
  std::map<const ExprNode*, Expr> done;
  std::function<Expr(const Expr&)> go = [&](const Expr& e) -> Expr {
    if (auto it = done.find(e.get()); it != done.end()) return it->second;
    Expr r = e;
    if (e->kind == ExprKind::binary && e->dtype == DType::i64) {
      const Expr a = go(e->args[0]), b = go(e->args[1]);
      if (e->binary == BinaryOp::floor_div || e->binary == BinaryOp::mod) {
        r = divide(e->binary, a, b, extents);
        if (!r) r = binary(e->binary, a, b);
      } else {
        r = binary(e->binary, a, b);
        if (Expr inside = known_inside(r, extents)) r = inside;
        if (e->binary == BinaryOp::add || e->binary == BinaryOp::sub || e->binary == BinaryOp::mul)
          r = from_linear(to_linear(r));
      }
    } else if (Expr inside = known_inside(e, extents)) {
      r = go(inside);
    } else if (e->kind == ExprKind::select || e->kind == ExprKind::load || e->kind == ExprKind::cast) {
      r = rewrite(e, [&](const Expr& inner) -> Expr {
        return inner != e && inner->dtype == DType::i64 && inner->kind == ExprKind::binary ? go(inner) : nullptr;
      });
    }
    done.emplace(e.get(), r);
    return r;
  };
  return go(root);
}

}  // namespace gcg
