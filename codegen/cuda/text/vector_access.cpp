#include "codegen/cuda/text/vector_access.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

namespace gcg::cuda {

bool is_aligned(const Operand& operand, const std::vector<Expr>& index, int lane, int64_t count) {
  const auto stride = address_stride(operand, index, lane);
  if (!stride || !stride->is(1)) return false;
  const std::vector<Dim> strides = access_strides(operand, index);
  for (size_t d = 0; d < index.size(); ++d) {
    if (!depends_on(index[d], lane) && is_multiple(strides[d], count)) continue;
    const auto affine = as_affine(index[d]);
    if (!affine || !is_multiple(affine->base * strides[d], count)) return false;
    for (const auto& [axis, step] : affine->strides)
      if (axis != lane && !is_multiple(step * strides[d], count)) return false;
  }
  return true;
}

namespace {

class VectorReadFinder {
 public:
  VectorReadFinder(const std::vector<Operand>& operands, int lane, int64_t count,
                   const std::unordered_set<const ExprNode*>& skip)
      : operands_(operands), lane_(lane), count_(count), skip_(skip) {}

  std::vector<Expr> run(const Expr& value) {
    walk(value, false);
    return std::move(found_);
  }

 private:
  /// `conditional`: a select decides whether `e` is evaluated, so its element may not exist.
  void walk(const Expr& e, bool conditional) {
    if (skip_.contains(e.get()) || e->kind == ExprKind::reduce || !seen_.insert({e.get(), conditional}).second) return;
    const bool load = e->kind == ExprKind::load && !e->guarded && is_vector(*e);
    const bool choice = e->kind == ExprKind::select && !conditional && is_choice(e);
    if (load || choice) {
      if (added_.insert(e.get()).second) found_.push_back(e);
      return;
    }
    for (size_t k = 0; k < e->args.size(); ++k) walk(e->args[k], conditional || (e->kind == ExprKind::select && k > 0));
  }

  bool is_choice(const Expr& e) {
    if (const auto it = choices_.find(e.get()); it != choices_.end()) return it->second;
    bool result = e->kind == ExprKind::constant;
    if (e->kind == ExprKind::load)
      result = is_vector(*e) && std::none_of(e->args.begin(), e->args.end(), [](const Expr& i) { return is_data(i); });
    if (e->kind == ExprKind::select)
      result = !depends_on(e->args[0], lane_) && !is_data(e->args[0]) && is_choice(e->args[1]) && is_choice(e->args[2]);
    return choices_[e.get()] = result;
  }

  bool is_vector(const ExprNode& e) const {
    return is_aligned(operands_[static_cast<size_t>(e.operand)], e.args, lane_, count_);
  }

  const std::vector<Operand>& operands_;
  int lane_;
  int64_t count_;
  const std::unordered_set<const ExprNode*>& skip_;
  std::vector<Expr> found_;
  std::unordered_set<const ExprNode*> added_;
  std::set<std::pair<const ExprNode*, bool>> seen_;
  std::unordered_map<const ExprNode*, bool> choices_;
};

}  // namespace

std::vector<Expr> vector_reads(const Expr& value, const std::vector<Operand>& operands, int lane, int64_t count,
                               const std::unordered_set<const ExprNode*>& skip) {
  return VectorReadFinder(operands, lane, count, skip).run(value);
}

std::vector<Expr> vector_loads(const Expr& value, const std::vector<Operand>& operands, int lane, int64_t count) {
  std::vector<Expr> loads = vector_reads(value, operands, lane, count);
  std::erase_if(loads, [](const Expr& e) { return e->kind != ExprKind::load; });
  return loads;
}

int vector_count(const Stage& stage, const std::vector<Operand>& operands, int lane) {
  constexpr int64_t kBytes = 16;
  for (int count : {16, 8, 4, 2}) {
    int64_t widest = 0;
    bool useful = true;
    if (stage.kind == Stage::Kind::store) {
      const Operand& result = operands[static_cast<size_t>(stage.operand)];
      useful = is_aligned(result, stage.index, lane, count);
      widest = size_of(result.dtype);
    }
    const std::vector<Expr> loads = vector_reads(stage.value, operands, lane, count);
    for (const Expr& e : loads) widest = std::max(widest, size_of(e->dtype));
    if (stage.kind == Stage::Kind::reduce) useful = !loads.empty();
    if (useful && widest * count <= kBytes) return count;
  }
  return 1;
}

void each_window(const Expr& value, const std::function<void(const Expr&)>& see) {
  if (value->kind == ExprKind::reduce) return see(value);
  for (const Expr& a : value->args) each_window(a, see);
}

std::optional<std::vector<Expr>> window_reads(const ExprNode& reduction, const std::vector<Operand>& operands, int lane,
                                              int64_t count) {
  const Expr& body = reduction.args[0];
  std::vector<Expr> reads = vector_reads(body, operands, lane, count);
  std::unordered_set<const ExprNode*> covered;
  for (const Expr& e : reads) visit(e, [&](const ExprNode& n) { covered.insert(&n); });
  bool fits = !reads.empty();
  visit(body, [&](const ExprNode& n) {
    if (n.kind == ExprKind::reduce) fits = false;
    if (n.kind != ExprKind::load || covered.contains(&n)) return;
    for (const Expr& i : n.args) fits = fits && !depends_on(i, lane);
  });
  return fits ? std::optional(std::move(reads)) : std::nullopt;
}

int window_count(const Stage& stage, const std::vector<Operand>& operands, int lane) {
  constexpr int64_t kBytes = 16;
  const Operand& result = operands[static_cast<size_t>(stage.operand)];
  for (int count : {8, 4, 2}) {
    int64_t widest = size_of(result.dtype);
    bool fits = is_aligned(result, stage.index, lane, count);
    const auto see = [&](const std::vector<Expr>& reads) {
      for (const Expr& e : reads) widest = std::max(widest, size_of(e->dtype));
    };
    see(vector_reads(stage.value, operands, lane, count));
    each_window(stage.value, [&](const Expr& window) {
      const auto reads = window_reads(*window, operands, lane, count);
      fits = fits && reads;
      if (reads) see(*reads);
    });
    if (fits && widest * count <= kBytes) return count;
  }
  return 1;
}

}  // namespace gcg::cuda
