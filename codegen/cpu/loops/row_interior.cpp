#include "codegen/cpu/loops/row_interior.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/loop_planning.h"

namespace gcg::cpu {
namespace {

constexpr int64_t kWidestBorder = 4096;  // the widest border of an axis of unknown extent

/// The index floor(numerator / divisor) + offset, with divisor > 0.
struct QuotientIndex {
  Affine numerator;
  Dim divisor = 1, offset = 0;
};

std::optional<Dim> number(const Expr& e) {
  const auto affine = as_affine(e);
  return affine && affine->strides.empty() ? std::optional(affine->base) : std::nullopt;
}

std::optional<QuotientIndex> quotient_of(const Expr& e) {
  if (auto affine = as_affine(e)) return QuotientIndex{std::move(*affine)};
  if (e->kind != ExprKind::binary) return std::nullopt;
  const auto right = number(e->args[1]);
  if (!right) return std::nullopt;
  if (e->binary == BinaryOp::floor_div && right->lower_bound().value_or(0) > 0) {
    auto numerator = as_affine(e->args[0]);
    return numerator ? std::optional(QuotientIndex{std::move(*numerator), *right}) : std::nullopt;
  }
  if (e->binary != BinaryOp::add && e->binary != BinaryOp::sub) return std::nullopt;
  auto quotient = quotient_of(e->args[0]);
  if (quotient) quotient->offset = e->binary == BinaryOp::add ? quotient->offset + *right : quotient->offset - *right;
  return quotient;
}

Affine negated(Affine a) {
  a.base = Dim(0) - a.base;
  for (auto& [axis, stride] : a.strides) stride = Dim(0) - stride;
  return a;
}

/// Selects the conditions to resolve: those that hold from some point on, those that hold up to some point, or both. If
/// `known` is set, only conditions that hold at all points of an end count.
struct Ends {
  bool low = true, high = true;
  const std::vector<Dim>* known = nullptr;
  int least = 0;  // the axis has at least this many elements; 0: not known
};

class Resolver {
 public:
  Resolver(const std::vector<Expr>& values, const Axis& axis, Ends ends) : axis_(axis), ends_(ends) {
    for (const Expr& value : values)
      visit(value, [&](const ExprNode& n) {
        for (const Axis& a : n.reduce_axes) reduced_[a.id] = a.extent;
      });
  }

  Expr resolve(const Expr& e) {
    if (const auto it = done_.find(e.get()); it != done_.end()) return it->second;
    Expr r = e;
    if (depends_on(e, axis_.id)) {
      r = rewrite(e, [&](const Expr& inner) -> Expr { return inner == e ? nullptr : resolve(inner); });
      if (Expr simple = simplified(r)) r = simple;
    }
    kept_.push_back(e);
    return done_[e.get()] = r;
  }

  std::vector<Dim> first, after;

 private:
  Expr simplified(const Expr& e) {
    if (e->kind != ExprKind::binary || e->args[0]->dtype != DType::i64) return nullptr;
    const Expr &a = e->args[0], &b = e->args[1];
    switch (e->binary) {
      case BinaryOp::max:
        return holds(a, b, 0) || is_clamped_above(a, b) ? a : holds(b, a, 0) ? b : nullptr;
      case BinaryOp::min:
        return holds(b, a, 0) ? a : holds(a, b, 0) ? b : nullptr;
      case BinaryOp::mod:
        return remainder(a, b);
      case BinaryOp::greater_equal:
        return holds(a, b, 0) ? boolean(true) : nullptr;
      case BinaryOp::greater:
        return holds(a, b, 1) ? boolean(true) : nullptr;
      case BinaryOp::less_equal:
        return holds(b, a, 0) ? boolean(true) : nullptr;
      case BinaryOp::less:
        return holds(b, a, 1) ? boolean(true) : nullptr;
      default:
        return nullptr;
    }
  }

  /// True if `a` is min(p, last) and both sides are at least `b`. For `last` this holds if the axis is long enough.
  bool is_clamped_above(const Expr& a, const Expr& b) {
    if (ends_.least == 0 || a->kind != ExprKind::binary || a->binary != BinaryOp::min) return false;
    const auto last = number(a->args[1]), low = number(b);
    return last && low && (*last - *low - axis_.extent + ends_.least).lower_bound().value_or(-1) >= 0 &&
           holds(a->args[0], b, 0);
  }

  /// `a` modulo `b` in the middle of the axis: subtracts b * (a / b), if this quotient is a small constant there.
  Expr remainder(const Expr& a, const Expr& b) {
    if (!number(b)) return nullptr;
    for (int64_t times : {0, 1, -1}) {
      const Expr remainder = times == 0 ? a : a - index(times) * b;
      if (holds_both(remainder, index(0), b, remainder)) return remainder;
    }
    return nullptr;
  }

  /// a >= b, and after > c
  bool holds_both(const Expr& a, const Expr& b, const Expr& after_it, const Expr& c) {
    const size_t known_first = first.size(), known_after = after.size();
    if (holds(a, b, 0) && holds(after_it, c, 1)) return true;
    first.resize(known_first);
    after.resize(known_after);
    return false;
  }

  /// True if large - small >= least in the middle of the axis. Narrows the middle to the part where it holds.
  bool holds(const Expr& large, const Expr& small, int64_t least) {
    const auto low = number(small), high = number(large);
    if (low) {
      const auto quotient = quotient_of(large);
      return quotient && is_natural(quotient->numerator, (*low + least - quotient->offset) * quotient->divisor);
    }
    if (high) {
      const auto quotient = quotient_of(small);
      return quotient && is_natural(negated(quotient->numerator),
                                    Dim(1) - (*high - least - quotient->offset + 1) * quotient->divisor);
    }
    const auto difference = as_affine(large - small);
    return difference && is_natural(*difference, least);
  }

  /// True if `a` >= `least` in the middle of the axis.
  bool is_natural(const Affine& a, const Dim& least) {
    Dim offset = a.base - least, stride;
    for (const auto& [id, s] : a.strides) {
      if (id == axis_.id) {
        stride = s;
        continue;
      }
      const auto extent = reduced_.find(id);
      if (extent == reduced_.end() || !s.is_constant()) return false;
      if (s.constant() < 0) offset = offset + s * (extent->second - 1);
    }
    if (!stride.is_constant() || stride.is(0)) return false;
    const bool rises = stride.constant() > 0;
    if (!(rises ? ends_.low : ends_.high)) return false;
    const Dim bound = rises ? ceil_div(Dim(0) - offset, stride) : floor_div(offset, Dim(0) - stride) + 1;
    if (!is_near_end(rises ? bound : axis_.extent - bound)) return false;
    if (ends_.known != nullptr && std::find(ends_.known->begin(), ends_.known->end(), bound) == ends_.known->end())
      return false;
    std::vector<Dim>& bounds = rises ? first : after;
    if (std::find(bounds.begin(), bounds.end(), bound) == bounds.end()) bounds.push_back(bound);
    return true;
  }

  bool is_near_end(const Dim& distance) const {
    const int64_t widest = axis_.extent.is_constant() ? axis_.extent.constant() / 2 : kWidestBorder;
    return distance.upper_bound().value_or(widest + 1) <= widest;
  }

  const Axis axis_;
  const Ends ends_;
  std::map<int, Dim> reduced_;
  std::unordered_map<const ExprNode*, Expr> done_;
  std::vector<Expr> kept_;  // keeps expressions alive, so that no new expression gets an address that is in done_
};

/// The sum of `difference`'s terms. Nullopt if its base is not known.
std::optional<Expr> as_known_sum(const Expr& e) {
  const auto difference = as_affine(e);
  if (!difference || !difference->base.is_constant()) return std::nullopt;
  Expr sum = extent(difference->base);
  for (const auto& [id, stride] : difference->strides) sum = sum + axis_ref({id, Dim::symbol("?")}) * extent(stride);
  return sum;
}

/// True if lanes along the axis depend on an extent that only a run knows. Either an index is taken modulo that extent,
/// or it is compared with the extent and only a run knows their distance. With a stride, for example, the last window
/// ends at the row's end or beside it.
bool has_unknown_lanes(const std::vector<Expr>& values, const Axis& axis) {
  bool unknown = false;
  const auto see = [&](const ExprNode& n) {
    if (n.kind != ExprKind::binary || n.args[0]->dtype != DType::i64) return;
    if (std::any_of(n.args.begin(), n.args.end(), is_data)) return;
    if (!depends_on(n.args[0], axis.id) && !depends_on(n.args[1], axis.id)) return;
    const bool extremum = n.binary == BinaryOp::min || n.binary == BinaryOp::max;
    const bool compares = n.binary >= BinaryOp::less && n.binary <= BinaryOp::greater_equal;
    const auto divisor = n.binary == BinaryOp::mod ? number(n.args[1]) : std::nullopt;
    unknown = unknown || (divisor && !divisor->is_constant());
    if (extremum || compares) unknown = unknown || !as_known_sum(n.args[0] - n.args[1]);
  };
  for (const Expr& value : values) visit(value, see);
  return unknown;
}

/// True if an end of the row certainly has very few elements.
bool are_few(const Dim& elements) {
  constexpr int64_t kFewElements = 2;
  return elements.upper_bound().value_or(kFewElements + 1) <= kFewElements;
}

/// `e` with the axis counted from `begin`. Comparisons become comparisons with 0. A minimum or maximum with a symbolic
/// extent becomes the extent plus an extremum with 0: min(w - 15 + axis, w - 1) = w - 1 + min(axis - 14, 0).
Expr counted_from(const Expr& e, const Axis& axis, const Dim& begin) {
  const Expr moved = rewrite(e, [&](const Expr& n) -> Expr {
    return n->kind == ExprKind::axis && n->axis == axis.id ? axis_ref(axis) + extent(begin) : nullptr;
  });
  return rewrite(moved, [&](const Expr& n) -> Expr {
    if (n->kind != ExprKind::binary || n->args[0]->dtype != DType::i64 || is_data(n)) return nullptr;
    if (n->binary == BinaryOp::min || n->binary == BinaryOp::max) {
      const auto limit = number(n->args[1]);
      const auto beyond = limit && !limit->is_constant() ? as_known_sum(n->args[0] - n->args[1]) : std::nullopt;
      return beyond ? n->args[1] + binary(n->binary, *beyond, index(0)) : nullptr;
    }
    if (n->binary < BinaryOp::less || n->binary > BinaryOp::greater_equal) return nullptr;
    const auto difference = as_known_sum(n->args[0] - n->args[1]);
    return difference ? binary(n->binary, *difference, index(0)) : nullptr;
  });
}

}  // namespace

std::optional<RowInterior> row_interior(const std::vector<Expr>& values, const Axis& axis, int lanes) {
  Resolver both(values, axis, {});
  RowInterior result;
  result.axis = axis;
  for (const Expr& v : values) result.values.push_back(both.resolve(v));
  if (both.first.empty() && both.after.empty()) return std::nullopt;
  // The vectors of an end may also cover elements of the middle, but none of the other end. If the left side of a
  // minimum is the smaller one there, the minimum must not become its right side.
  Resolver high(values, axis, {.low = false, .known = &both.after}),
      low(values, axis, {.high = false, .known = &both.first, .least = lanes});
  for (const Expr& v : values) {
    result.ahead.push_back(high.resolve(v));
    result.beyond.push_back(counted_from(low.resolve(v), axis, axis.extent - lanes));
  }
  result.front_unknown = has_unknown_lanes(result.ahead, axis);
  result.back_unknown = has_unknown_lanes(result.beyond, axis);
  result.first = std::move(both.first);
  result.after = std::move(both.after);
  return result;
}

bool has_short_front(const RowInterior& interior) { return std::ranges::all_of(interior.first, are_few); }

bool has_short_back(const RowInterior& interior) {
  return std::ranges::all_of(interior.after, [&](const Dim& d) { return are_few(interior.axis.extent - d); });
}

std::optional<int64_t> width_of_ends(const RowInterior& interior) {
  int64_t front = 0, back = 0;
  for (const Dim& d : interior.first) {
    const auto width = d.upper_bound();
    if (!width) return std::nullopt;
    front = std::max(front, *width);
  }
  for (const Dim& d : interior.after) {
    const auto width = (interior.axis.extent - d).upper_bound();
    if (!width) return std::nullopt;
    back = std::max(back, *width);
  }
  return front + back;
}

bool is_wide(const RowInterior& interior, int lanes) {
  if (!interior.axis.extent.is_constant()) return true;
  const int64_t extent = interior.axis.extent.constant();
  int64_t first = 0, after = extent;
  for (const Dim& d : interior.first) first = std::max(first, d.upper_bound().value_or(0));
  for (const Dim& d : interior.after) after = std::min(after, d.lower_bound().value_or(extent));
  return after - first >= lanes;
}

bool has_narrow_ends(const RowInterior& interior, int lanes) {
  const auto fits = [&](const Dim& d) { return is_below(d, lanes + 1); };
  return std::all_of(interior.first.begin(), interior.first.end(), fits) &&
         std::all_of(interior.after.begin(), interior.after.end(),
                     [&](const Dim& d) { return fits(interior.axis.extent - d); });
}

}  // namespace gcg::cpu
