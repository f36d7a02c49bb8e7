#include "compiler/kernel/loop_work.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/kernel/typical_extent.h"

namespace gcg {
namespace {

constexpr double kUniform = 0.1, kContiguous = 1, kScattered = 10;  // cost of an access, by the stride between lanes
constexpr double kTransposed = 3;    // a strided access that is read in tiles of two axes and transposed
constexpr int64_t kInterleaved = 4;  // loads of at most this stride are contiguous loads and shuffles
constexpr int64_t kTileSide = 8;
constexpr double kRowStart = 8;  // start and end of a stage's loop, per point of the outer axes
constexpr int kNoAxis = -1;

double operation(const ExprNode& e) {
  if (e.kind == ExprKind::unary && is_float(e.dtype)) return is_elementary_function(e) ? 10 : 1;
  if (e.kind == ExprKind::binary)
    return e.dtype == DType::i64 ? 0 : e.binary == BinaryOp::pow ? 20 : e.binary == BinaryOp::div ? 2 : 1;
  return e.kind == ExprKind::select || e.kind == ExprKind::cast ? 1 : 0;
}

double points(const std::vector<Axis>& axes) {
  double n = 1;
  for (const Axis& a : axes) n *= typical(a.extent);
  return n;
}

/// Counts one stage with `lane` as the axis of its vector loop. Loop-invariant subexpressions are computed outside the
/// loops and do not count.
class StageWork {
 public:
  StageWork(const std::vector<Operand>& operands, const Stage& stage, const std::vector<Axis>& loops, int lane,
            double scattered)
      : operands_(operands), lane_(lane), scattered_(scattered) {
    for (const Axis& a : loops) inside_.insert(a.id);
    inside_.insert(lane);
    visit(stage.value, [&](const ExprNode& n) {
      for (const Axis& a : n.reduce_axes) inside_.insert(a.id);
    });
  }

  double evaluation(const Expr& root) {
    double sum = 0;
    std::set<const ExprNode*> seen;
    std::function<void(const Expr&)> add = [&](const Expr& e) {
      if (!seen.insert(e.get()).second || !varies(e)) return;
      if (e->kind == ExprKind::reduce) {
        sum += points(e->reduce_axes) * (1 + evaluation(e->args[0]));
        return;
      }
      sum += e->kind == ExprKind::load ? access(e->operand, e->args, false) : operation(*e);
      if (e->kind == ExprKind::load && std::none_of(e->args.begin(), e->args.end(), is_data)) return;
      for (const Expr& a : e->args) add(a);
    };
    add(root);
    return sum;
  }

  double access(int operand, const std::vector<Expr>& index, bool store) const {
    const auto stride = lane_ == kNoAxis ? Dim(0) : stride_in_tile(operand, index);
    if (!stride) return scattered_;
    if (!store && stride->is_constant() && stride->constant() > 1 && stride->constant() <= kInterleaved)
      return static_cast<double>(stride->constant());
    return stride->is(0) ? kUniform : stride->is(1) ? kContiguous : scattered_;
  }

 private:
  /// The stride within a run of kTileSide lanes, such as a block of channels. Quotients by the block size do not change
  /// in a run.
  std::optional<Dim> stride_in_tile(int operand, std::vector<Expr> index) const {
    for (Expr& i : index) i = in_run(i, {.id = lane_}, kTileSide, gcg::index(0));
    return address_stride(operands_[static_cast<size_t>(operand)], index, lane_);
  }

  bool varies(const Expr& e) {
    if (const auto it = varies_.find(e.get()); it != varies_.end()) return it->second;
    bool result = e->kind == ExprKind::axis && inside_.count(e->axis) != 0;
    for (const Expr& a : e->args) result = varies(a) || result;
    return varies_[e.get()] = result;
  }

  const std::vector<Operand>& operands_;
  int lane_;
  double scattered_;
  std::set<int> inside_;
  std::map<const ExprNode*, bool> varies_;
};

double point_work(const std::vector<Operand>& operands, const Stage& stage, const std::vector<Axis>& loops, int lane,
                  double scattered = kScattered) {
  StageWork work(operands, stage, loops, lane, scattered);
  return 1 + work.evaluation(stage.value) + (stage.operand < 0 ? 0 : work.access(stage.operand, stage.index, true));
}

/// True if a single store whose lanes run along `lane` can read its strided loads in transposed tiles.
bool transposes(const std::vector<Operand>& operands, const Stage& stage, const Axis& lane) {
  const auto any = [](const Expr&) { return true; };
  const auto is_long = [](const Axis& a) { return typical(a.extent) >= kTileSide; };
  return find_tile(stage, lane, stage.axes, operands, kTileSide, any, is_long).has_value();
}

/// Runs all stages of one point of the outer axes after each other; each stage's lanes run along one of its own axes.
/// In a single store, the other axes count as outer points.
double row_work(const Kernel& kernel, const LoopKernel& loops) {
  double sum = 0;
  const bool alone = is_single_store(loops);
  for (const Stage& stage : loops.stages) {
    const std::vector<Axis> inside = alone ? std::vector<Axis>() : stage.axes;
    double least = stage.axes.empty() ? point_work(kernel.operands, stage, inside, kNoAxis) * kScattered : HUGE_VAL;
    for (const Axis& a : stage.axes) {
      const double scattered = alone && transposes(kernel.operands, stage, a) ? kTransposed : kScattered;
      least = std::min(least, point_work(kernel.operands, stage, inside, a.id, scattered));
    }
    sum += points(loops.outer) * (points(stage.axes) * least + (alone ? 0 : kRowStart));
  }
  return sum;
}

/// Lanes are neighbouring points of an outer axis and run through all stages together.
double column_work(const Kernel& kernel, const LoopKernel& loops, const Axis& lane) {
  double sum = 0;
  for (const Stage& stage : loops.stages)
    sum += points(stage.axes) * point_work(kernel.operands, stage, stage.axes, lane.id);
  return points(loops.outer) * sum;
}

}  // namespace

double loop_work(const Kernel& kernel, const LoopKernel& loops) {
  double least = row_work(kernel, loops);
  for (const Axis& a : loops.outer) least = std::min(least, column_work(kernel, loops, a));
  return least;
}

}  // namespace gcg
