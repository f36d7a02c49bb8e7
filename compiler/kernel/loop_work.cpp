#include "compiler/kernel/loop_work.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/kernel/typical_extent.h"

namespace gcg {
namespace {

constexpr double kUniform = 0.1, kContiguous = 1, kScattered = 10;  // an access, by how lanes move through memory
constexpr double kRowStart = 8;  // a stage's loop and what closes it, per point outside
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

/// Counts one stage with `lane` as the axis of its vector loop. What no axis of its loops changes is computed outside
/// of them and counts nothing.
class StageWork {
 public:
  StageWork(const std::vector<Operand>& operands, const Stage& stage, const std::vector<Axis>& loops, int lane)
      : operands_(operands), lane_(lane) {
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
      sum += e->kind == ExprKind::load ? access(e->operand, e->args) : operation(*e);
      if (e->kind == ExprKind::load && std::none_of(e->args.begin(), e->args.end(), is_data)) return;
      for (const Expr& a : e->args) add(a);
    };
    add(root);
    return sum;
  }

  double access(int operand, const std::vector<Expr>& index) const {
    const auto stride =
        lane_ == kNoAxis ? Dim(0) : address_stride(operands_[static_cast<size_t>(operand)], index, lane_);
    if (!stride) return kScattered;
    return stride->is(0) ? kUniform : stride->is(1) ? kContiguous : kScattered;
  }

 private:
  bool varies(const Expr& e) {
    if (const auto it = varies_.find(e.get()); it != varies_.end()) return it->second;
    bool result = e->kind == ExprKind::axis && inside_.count(e->axis) != 0;
    for (const Expr& a : e->args) result = varies(a) || result;
    return varies_[e.get()] = result;
  }

  const std::vector<Operand>& operands_;
  int lane_;
  std::set<int> inside_;
  std::map<const ExprNode*, bool> varies_;
};

double point_work(const std::vector<Operand>& operands, const Stage& stage, const std::vector<Axis>& loops, int lane) {
  StageWork work(operands, stage, loops, lane);
  return 1 + work.evaluation(stage.value) + (stage.operand < 0 ? 0 : work.access(stage.operand, stage.index));
}

/// All stages of a point of the outer axes in turn, the lanes along an axis of each stage's own. The other axes of a
/// single store are points.
double row_work(const Kernel& kernel, const LoopKernel& loops) {
  double sum = 0;
  const bool alone = is_single_store(loops);
  for (const Stage& stage : loops.stages) {
    const std::vector<Axis> inside = alone ? std::vector<Axis>() : stage.axes;
    double least = stage.axes.empty() ? point_work(kernel.operands, stage, inside, kNoAxis) * kScattered : HUGE_VAL;
    for (const Axis& a : stage.axes) least = std::min(least, point_work(kernel.operands, stage, inside, a.id));
    sum += points(loops.outer) * (points(stage.axes) * least + (alone ? 0 : kRowStart));
  }
  return sum;
}

/// Lanes that are neighbouring points of an outer axis go through all stages together.
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
