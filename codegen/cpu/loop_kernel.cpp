// Loop kernels: points of the outer axes in order, stages in order per point, each a nest around one vector loop.
#include <algorithm>
#include <functional>

#include "codegen/cpu/arithmetic.h"
#include "codegen/cpu/emit.h"
#include "codegen/cpu/expr_emitter.h"
#include "codegen/cpu/loop_plan.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

using llvm::Value;
using Values = FunctionBuilder::Values;

/// A piece of a row done `lanes` at a time; `masked`: the rest, shorter than `lanes`, in one go.
struct Segment {
  int lanes = 1;
  bool masked = false;
  Value* begin = nullptr;
  Value* end = nullptr;
};

class LoopKernelEmitter {
 public:
  LoopKernelEmitter(FunctionBuilder& f, const LoopPlan& plan) : f_(f), ir_(f.ir()), exprs_(f), plan_(plan) {}

  void emit() {
    for (int id : plan_.unit_axes) point_.axes[id] = f_.i64(0);
    Value* points = f_.dim(plan_.points);
    Value* per_task = f_.dim(plan_.points_per_task);
    Value* begin = ir_.CreateMul(f_.task_begin(), per_task);
    Value* end = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateMul(f_.task_end(), per_task), points);
    f_.for_loop(begin, end, f_.i64(1), coordinates(begin), [&](Value*, const Values& at) {
      for (size_t k = 0; k < at.size(); ++k) point_.axes[plan_.outer[k].id] = at[k];
      for (const StagePlan& stage : plan_.stages) emit_stage(stage);
      return advance(at);
    });
  }

 private:
  /// The outer axes' values at point `p`.
  Values coordinates(Value* p) {
    Values at(plan_.outer.size());
    for (size_t k = at.size(); k-- > 0;) {
      // A zero extent means no points, but this runs before that is known.
      Value* extent = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, f_.dim(plan_.outer[k].extent), f_.i64(1));
      at[k] = k == 0 ? p : ir_.CreateURem(p, extent);
      p = ir_.CreateUDiv(p, extent);
    }
    return at;
  }

  /// The next point in row-major order.
  Values advance(const Values& at) {
    Values next(at.size());
    Value* carry = ir_.getTrue();
    for (size_t k = at.size(); k-- > 0;) {
      Value* stepped = ir_.CreateAdd(at[k], ir_.CreateZExt(carry, ir_.getInt64Ty()));
      if (k == 0) {
        next[k] = stepped;
        break;
      }
      carry = ir_.CreateICmpEQ(stepped, f_.dim(plan_.outer[k].extent));
      next[k] = ir_.CreateSelect(carry, f_.i64(0), stepped);
    }
    return next;
  }

  void emit_stage(const StagePlan& plan) {
    if (plan.stage.kind == Stage::Kind::store) emit_store(plan, 0);
    else emit_reduce(plan);
  }

  void emit_store(const StagePlan& plan, size_t depth) {
    const Stage& stage = plan.stage;
    if (depth < plan.loops.size()) {
      f_.for_loop(f_.i64(0), f_.dim(plan.loops[depth].extent), f_.i64(1), [&](Value* i) {
        point_.axes[plan.loops[depth].id] = i;
        emit_store(plan, depth + 1);
      });
      return;
    }
    if (plan.lane.id < 0) {
      exprs_.store(stage.operand, stage.index, stage.value, point_);
      return;
    }
    for (const Segment& segment : segments(plan))
      run(segment, {}, [&](Value* i, Value* mask, const Values&) {
        exprs_.store(stage.operand, stage.index, stage.value, lane_point(plan, segment, i, mask));
        return Values{};
      });
  }

  /// Accumulators of the widths that the row's segments use, widest first, live across the whole nest.
  void emit_reduce(const StagePlan& plan) {
    const Stage& stage = plan.stage;
    const DType dtype = stage.value->dtype;
    Value* identity = emit_constant(f_, *reduce_identity(stage.reduce, dtype));
    std::vector<int> widths;
    for (const Segment& s : plan.lane.id < 0 ? std::vector<Segment>{Segment{}} : segments(plan))
      if (std::find(widths.begin(), widths.end(), s.lanes) == widths.end()) widths.push_back(s.lanes);
    Values accumulators;
    for (int width : widths) accumulators.push_back(f_.splat(identity, width));
    accumulators = reduce_nest(plan, 0, widths, accumulators);
    Value* total = nullptr;
    for (size_t k = 0; k < widths.size(); ++k) {
      Value* part = total == nullptr ? accumulators[k]
                                     : emit_combine(f_, stage.reduce, dtype, narrow_to(stage, total, widths[k]), accumulators[k]);
      total = part;
    }
    point_.locals[stage.local] = total == nullptr ? identity : emit_horizontal(f_, stage.reduce, dtype, total);
  }

  Value* narrow_to(const Stage& stage, Value* vector, int lanes) {
    while (FunctionBuilder::lanes_of(vector) > lanes) vector = emit_halve(f_, stage.reduce, stage.value->dtype, vector);
    return vector;
  }

  Values reduce_nest(const StagePlan& plan, size_t depth, const std::vector<int>& widths, const Values& initial) {
    if (depth < plan.loops.size())
      return f_.for_loop(f_.i64(0), f_.dim(plan.loops[depth].extent), f_.i64(1), initial,
                         [&](Value* i, const Values& carried) {
                           point_.axes[plan.loops[depth].id] = i;
                           return reduce_nest(plan, depth + 1, widths, carried);
                         });
    const Stage& stage = plan.stage;
    const DType dtype = stage.value->dtype;
    Values current = initial;
    if (plan.lane.id < 0) {
      current[0] = emit_combine(f_, stage.reduce, dtype, current[0], exprs_.evaluate(stage.value, point_));
      return current;
    }
    for (const Segment& segment : segments(plan)) {
      const auto slot = static_cast<size_t>(std::find(widths.begin(), widths.end(), segment.lanes) - widths.begin());
      current[slot] = run(segment, {current[slot]}, [&](Value* i, Value* mask, const Values& carried) {
        Value* v = f_.splat(exprs_.evaluate(stage.value, lane_point(plan, segment, i, mask)), segment.lanes);
        Value* sum = emit_combine(f_, stage.reduce, dtype, carried[0], v);
        return Values{mask == nullptr ? sum : ir_.CreateSelect(mask, sum, carried[0])};
      })[0];
    }
    return current;
  }

  Point lane_point(const StagePlan& plan, const Segment& segment, Value* i, Value* mask) {
    Point p = point_;
    p.axes[plan.lane.id] = i;
    p.lane_axis = plan.lane.id;
    p.lanes = segment.lanes;
    p.mask = mask;
    return p;
  }

  /// The row of the vector axis: wide steps, steps of one register, then the rest masked or one by one.
  std::vector<Segment> segments(const StagePlan& plan) {
    Value* begin = f_.i64(0);
    Value* end = f_.dim(plan.lane.extent);
    if (plan_.row_block > 0) {
      begin = ir_.CreateMul(point_.axes.at(plan_.block.id), f_.i64(plan_.row_block));
      end = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateAdd(begin, f_.i64(plan_.row_block)), end);
    }
    std::vector<Segment> result;
    auto add = [&](int lanes) {
      Value* length = ir_.CreateSub(end, begin);
      Value* stop = ir_.CreateAdd(begin, ir_.CreateAnd(length, f_.i64(-int64_t{lanes})));
      if (begin != stop) result.push_back({lanes, false, begin, stop});
      begin = stop;
    };
    add(plan.wide);
    if (plan.native < plan.wide) add(plan.native);
    if (begin == end) return result;
    if (plan.native > 1) result.push_back({plan.maskable ? plan.native : 1, plan.maskable, begin, end});
    return result;
  }

  /// Runs body(i, mask, carried) over a segment.
  Values run(const Segment& s, const Values& initial, const std::function<Values(Value*, Value*, const Values&)>& body) {
    if (s.masked) {
      auto rest = [&] { return body(s.begin, f_.first_lanes(ir_.CreateSub(s.end, s.begin), s.lanes), initial); };
      if (llvm::isa<llvm::Constant>(s.begin) && llvm::isa<llvm::Constant>(s.end)) return rest();
      return f_.if_else(ir_.CreateICmpSLT(s.begin, s.end), rest, [&] { return initial; });
    }
    return f_.for_loop(s.begin, s.end, f_.i64(s.lanes), initial,
                       [&](Value* i, const Values& carried) { return body(i, nullptr, carried); });
  }

  FunctionBuilder& f_;
  llvm::IRBuilder<>& ir_;
  ExprEmitter exprs_;
  const LoopPlan& plan_;
  Point point_;
};

std::string describe(const LoopPlan& plan) {
  std::string text = concat("points ", plan.points.str());
  for (const StagePlan& stage : plan.stages)
    text += concat(stage.stage.kind == Stage::Kind::store ? ", store " : ", reduce ",
                   stage.lane.id < 0 ? "1" : stage.lane.extent.str(), " by ", stage.wide);
  return text;
}

}  // namespace

KernelEmission emit_loop_kernel(FunctionBuilder& f, const Kernel& kernel, const LoopKernel& loop) {
  const LoopPlan plan = plan_loops(f.target(), kernel, loop);
  LoopKernelEmitter(f, plan).emit();
  KernelEmission result;
  result.tasks = ceil_div(plan.points, plan.points_per_task);
  result.note = describe(plan);
  return result;
}

}  // namespace gcg::cpu
