#include "codegen/cuda/contractions/attention_scores.h"

#include <algorithm>
#include <cmath>

#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/typical_extent.h"

namespace gcg::cuda {
namespace {

/// A score that is lowered by this much gets a weight of zero, unless all scores of the query are lowered.
constexpr double kLow = -1e4;

bool is(const Expr& e, BinaryOp op) { return e->kind == ExprKind::binary && e->binary == op; }
bool is_not(const Expr& e) { return e->kind == ExprKind::unary && e->unary == UnaryOp::logical_not; }
bool is_zero(const Expr& e) { return e->kind == ExprKind::constant && is_float(e->dtype) && e->number == 0; }

/// The constant value of `e`, looking through casts between floats.
std::optional<double> number_of(const Expr& e) {
  if (e->kind == ExprKind::cast && is_float(e->dtype) && is_float(e->args[0]->dtype)) return number_of(e->args[0]);
  if (e->kind != ExprKind::constant || !is_float(e->dtype)) return std::nullopt;
  return e->number;
}

/// A value m * queries + t * keys + base, where the base depends neither on m nor on t.
struct Linear {
  int64_t queries = 0, keys = 0;
  Expr base;
};

bool is_index(DType dtype) { return dtype == DType::i64 || dtype == DType::i32; }

class Positions {
 public:
  explicit Positions(const AttentionKernel& k) : k_(k) {}

  std::optional<Linear> linear(const Expr& e) const {
    if (!is_index(e->dtype)) return std::nullopt;
    if (!depends_on(e, k_.m.id) && !depends_on(e, k_.t.id)) return Linear{0, 0, cast(DType::i64, e)};
    if (e->kind == ExprKind::axis) return e->axis == k_.m.id ? Linear{1, 0, index(0)} : Linear{0, 1, index(0)};
    if (e->kind == ExprKind::cast) return linear(e->args[0]);  // positions fit both
    if (e->kind != ExprKind::binary) return std::nullopt;
    if (e->binary == BinaryOp::mul) return scaled(e->args[0], e->args[1]);
    if (e->binary != BinaryOp::add && e->binary != BinaryOp::sub) return std::nullopt;
    const auto a = linear(e->args[0]), b = linear(e->args[1]);
    if (!a || !b) return std::nullopt;
    const int64_t sign = e->binary == BinaryOp::add ? 1 : -1;
    return Linear{a->queries + sign * b->queries, a->keys + sign * b->keys,
                  sign > 0 ? a->base + b->base : a->base - b->base};
  }

 private:
  std::optional<Linear> scaled(const Expr& a, const Expr& b) const {
    const bool left = a->kind == ExprKind::constant;
    const auto of = linear(left ? b : a);
    if (!of || (left ? a : b)->kind != ExprKind::constant) return std::nullopt;
    const int64_t by = (left ? a : b)->integer;
    return Linear{of->queries * by, of->keys * by, of->base * index(by)};
  }

  const AttentionKernel& k_;
};

class ScoreReader {
 public:
  explicit ScoreReader(const AttentionKernel& k) : k_(k), positions_(k) {}

  AttentionScores read() {
    AttentionScores out;
    out.scores = peeled(k_.scores);
    out.seen = std::move(seen_);
    out.scale = scale_of(out.scores);
    if (out.scale && !(*out.scale > 0)) out.scale = std::nullopt;
    return out;
  }

 private:
  /// Moves masks in `e` to seen_ (see take()) and returns the remaining scores, which are right for keys that are seen.
  Expr peeled(const Expr& e) {
    if (e->kind == ExprKind::select)
      for (const bool opposite : {false, true}) {
        const Expr &selected = e->args[opposite ? 2 : 1], &other = e->args[opposite ? 1 : 2];
        const auto low = number_of(other);
        if (!low || *low > kLow || has_guarded_load(selected) || !take(e->args[0], opposite, *low)) continue;
        const Expr guard = guard_, scores = peeled(selected);
        return guard ? select(guard, scores, other) : scores;
      }
    if (!is(e, BinaryOp::add)) return e;
    for (size_t i = 0; i < 2; ++i) {
      const Expr &added = e->args[i], &other = e->args[1 - i];
      if (added->kind != ExprKind::select || has_product(added)) continue;
      const Expr addend = peeled(added), scores = peeled(other);
      return is_zero(addend) ? scores : scores + addend;
    }
    return e;
  }
  static bool has_product(const Expr& e) {
    bool found = false;
    visit(e, [&](const ExprNode& n) { found = found || n.kind == ExprKind::accumulator; });
    return found;
  }

  /// Moves the bounds on positions that `condition` (or its opposite) states into the result. The remaining conditions
  /// go to rest_; they must hold as well. Returns false if no bound was found.
  bool take(const Expr& condition, bool opposite, double low) {
    const SeenKeys before = seen_;
    guard_ = nullptr;
    taken_ = false;
    conjunct(condition, opposite);
    if (taken_ && (std::isinf(low) || every_query_sees_one())) return true;
    seen_ = before;
    guard_ = nullptr;
    return false;
  }

  /// The condition behind a non-zero number or behind a select of two truth values, and whether it is negated.
  static std::pair<Expr, bool> truth_of(const Expr& e) {
    const Expr& of = e->kind == ExprKind::cast && e->dtype == DType::boolean ? e->args[0] : e;
    if (of->kind != ExprKind::select) return {};
    const auto truth = [](const Expr& x) -> std::optional<bool> {
      if (x->kind != ExprKind::constant) return std::nullopt;
      return is_float(x->dtype) ? x->number != 0 : x->integer != 0;
    };
    const auto yes = truth(of->args[1]), no = truth(of->args[2]);
    if (!yes || !no || *yes == *no) return {};
    return {of->args[0], *no};
  }

  void conjunct(const Expr& e, bool opposite) {
    if (is_not(e)) return conjunct(e->args[0], !opposite);
    if (const auto [of, turns] = truth_of(e); of) return conjunct(of, opposite != turns);
    if (is(e, opposite ? BinaryOp::logical_or : BinaryOp::logical_and)) {
      conjunct(e->args[0], opposite);
      return conjunct(e->args[1], opposite);
    }
    if (compares(e, opposite)) return void(taken_ = true);
    const Expr selected = opposite ? unary(UnaryOp::logical_not, e) : e;
    guard_ = guard_ ? binary(BinaryOp::logical_and, guard_, selected) : selected;
  }

  /// Records a comparison of positions as `difference <= 0`.
  bool compares(const Expr& e, bool opposite) {
    if (e->kind != ExprKind::binary) return false;
    const BinaryOp op = e->binary;
    const bool less = op == BinaryOp::less || op == BinaryOp::less_equal;
    const bool greater = op == BinaryOp::greater || op == BinaryOp::greater_equal;
    if (!less && !greater) return false;
    const auto a = positions_.linear(e->args[0]), b = positions_.linear(e->args[1]);
    if (!a || !b) return false;
    const bool strict = (op == BinaryOp::less || op == BinaryOp::greater) != opposite;
    const bool swapped = greater != opposite;
    const Linear &low = swapped ? *b : *a, &high = swapped ? *a : *b;
    return bound({low.queries - high.queries, low.keys - high.keys, low.base - high.base + index(strict ? 1 : 0)});
  }

  /// Records difference <= 0.
  bool bound(const Linear& difference) {
    const Expr &base = difference.base, nothing = index(0);
    if (difference.keys == 1 && difference.queries == 0)
      seen_.ends.push_back(nothing - base + index(1));
    else if (difference.keys == 1 && difference.queries == -1)
      seen_.lasts.push_back(nothing - base);
    else if (difference.keys == -1 && difference.queries == 1)
      seen_.firsts.push_back(base);
    else
      return false;
    return true;
  }

  /// True if every query certainly sees a key, so that no row consists of lowered scores only.
  bool every_query_sees_one() const {
    const auto known = [](const std::vector<Expr>& bounds) {
      std::vector<Dim> dims;
      for (const Expr& e : bounds) {
        const auto affine = as_affine(e);
        if (!affine || !affine->strides.empty()) return std::optional<std::vector<Dim>>();
        dims.push_back(affine->base);
      }
      return std::optional(dims);
    };
    const auto natural = [](const Dim& d) { return d.lower_bound().value_or(-1) >= 0; };
    const auto lasts = known(seen_.lasts), firsts = known(seen_.firsts);
    if (!seen_.ends.empty() || !lasts || !firsts) return false;
    if (!std::all_of(lasts->begin(), lasts->end(), natural)) return false;
    return std::all_of(firsts->begin(), firsts->end(), [&](const Dim& first) {
      return natural(k_.t.extent - k_.m.extent - first) &&
             std::all_of(lasts->begin(), lasts->end(), [&](const Dim& last) { return natural(last - first); });
    });
  }

  static std::optional<double> scale_of(const Expr& e) {
    if (e->kind == ExprKind::accumulator) return 1;
    if (!is(e, BinaryOp::mul)) return std::nullopt;
    const bool left = e->args[0]->kind == ExprKind::constant;
    const auto factor = number_of(e->args[left ? 0 : 1]), inner = scale_of(e->args[left ? 1 : 0]);
    return factor && inner ? std::optional(*factor * *inner) : std::nullopt;
  }

  const AttentionKernel& k_;
  Positions positions_;
  SeenKeys seen_;
  Expr guard_;
  bool taken_ = false;
};

/// The number of queries per head, if the kernel's rows are queries of several heads.
std::optional<Dim> queries_of_head(const AttentionKernel& k) {
  std::optional<Dim> found;
  const auto see = [&](const ExprNode& n) {
    if (n.kind != ExprKind::binary || (n.binary != BinaryOp::mod && n.binary != BinaryOp::floor_div)) return;
    const ExprNode &of = *n.args[0], &by = *n.args[1];
    if (of.kind != ExprKind::axis || of.axis != k.m.id) return;
    if (by.kind != ExprKind::extent && by.kind != ExprKind::constant) return;
    const Dim queries = by.kind == ExprKind::extent ? by.dim : Dim(by.integer);
    if (floor_div(k.m.extent, queries) * queries == k.m.extent) found = queries;
  };
  for (const Expr& e : {k.scores, k.row_mask, k.epilogue})
    if (e) visit(e, see);
  return found;
}

}  // namespace

AttentionScores scores_of(const AttentionKernel& kernel) { return ScoreReader(kernel).read(); }

AttentionKernel split_heads(const AttentionKernel& kernel, double fewest) {
  const auto queries = queries_of_head(kernel);
  if (!queries || typical(*queries) < fewest) return kernel;
  AttentionKernel out = kernel;
  int last = std::max({kernel.m.id, kernel.n.id, kernel.t.id, kernel.d.id});
  for (const Axis& a : kernel.batch) last = std::max(last, a.id);
  const Axis head{last + 1, floor_div(kernel.m.extent, *queries)};
  out.m.extent = *queries;
  out.batch.push_back(head);
  out.q.batch_strides.push_back(kernel.q.row_stride * *queries);
  out.k.batch_strides.push_back(0);
  out.v.batch_strides.push_back(0);

  std::map<int, Dim> extents;
  for (const std::vector<Axis>& axes : {out.batch, {out.m, out.n, out.t, out.d}})
    for (const Axis& a : axes) extents[a.id] = a.extent;
  const Expr row = axis_ref(head) * extent(*queries) + axis_ref(out.m);
  const auto moved = [&](const Expr& e) {
    const Expr there =
        rewrite(e, [&](const Expr& n) { return n->kind == ExprKind::axis && n->axis == kernel.m.id ? row : nullptr; });
    return rewrite(there, [&](const Expr& n) {
      return n->dtype == DType::i64 && !is_data(n) ? simplify_index(n, extents) : nullptr;
    });
  };
  out.scores = moved(kernel.scores);
  out.epilogue = moved(kernel.epilogue);
  if (kernel.row_mask) out.row_mask = moved(kernel.row_mask);
  for (Expr& e : out.index) e = moved(e);
  return out;
}

}  // namespace gcg::cuda
