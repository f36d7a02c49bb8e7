#include "codegen/cpu/loops/vector_row.h"

#include "codegen/cpu/llvm/coordinates.h"
#include "compiler/kernel/loop_planning.h"

namespace gcg::cpu {

using llvm::Value;
using Values = FunctionBuilder::Values;

namespace {

struct PointRange {
  Value *begin, *end;
};

PointRange points_of_tasks(FunctionBuilder& f, const std::vector<Axis>& outer, const Dim& per_task) {
  llvm::IRBuilder<>& ir = f.ir();
  const Dim count = extent_of(outer);
  Value* points = f.dim(count);
  Value* step = f.dim(per_task);
  Value* begin = ir.CreateMul(f.task_begin(), step);
  return {begin, ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir.CreateMul(f.task_end(), step), points)};
}

}  // namespace

void PointRun::points(int together, const std::function<void(int)>& body) const {
  llvm::IRBuilder<>& ir = f_.ir();
  const auto emit = [&](Value* from, Value* to, int count) {
    f_.for_loop(from, to, f_.i64(count), [&](Value* i) {
      point_.axes[axis.id] = i;
      body(count);
    });
  };
  if (together == 1) return emit(begin, end, 1);
  Value* all = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, ir.CreateSub(end, begin), f_.i64(0));
  Value* rest = ir.CreateAdd(begin, ir.CreateAnd(all, f_.i64(-int64_t{together})));
  emit(begin, rest, together);
  emit(rest, end, 1);
}

void for_each_run(FunctionBuilder& f, const std::vector<Axis>& outer, const Dim& per_task, Point& point,
                  const std::function<void(const PointRun& run)>& each_run) {
  llvm::IRBuilder<>& ir = f.ir();
  const auto [begin, end] = points_of_tasks(f, outer, per_task);
  const Axis& inner = outer.back();
  const std::vector<Axis> others(outer.begin(), outer.end() - 1);
  Value* length = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, f.dim(inner.extent), f.i64(1));
  Value* first = ir.CreateUDiv(begin, length);
  Value* after = ir.CreateUDiv(ir.CreateAdd(end, ir.CreateSub(length, f.i64(1))), length);
  f.for_loop(first, after, f.i64(1), coordinates(f, others, first), [&](Value* run, const Values& at) {
    for (size_t k = 0; k < at.size(); ++k) point.axes[others[k].id] = at[k];
    Value* start = ir.CreateMul(run, length);
    Value* low = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, ir.CreateSub(begin, start), f.i64(0));
    Value* high = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir.CreateSub(end, start), length);
    each_run(PointRun(f, point, inner, low, high));
    return next_coordinates(f, others, at);
  });
}

void for_each_point(FunctionBuilder& f, const std::vector<Axis>& outer, const Dim& per_task, Point& point,
                    const std::function<void()>& body) {
  const auto [begin, end] = points_of_tasks(f, outer, per_task);
  f.for_loop(begin, end, f.i64(1), coordinates(f, outer, begin), [&](Value*, const Values& at) {
    for (size_t k = 0; k < at.size(); ++k) point.axes[outer[k].id] = at[k];
    body();
    return next_coordinates(f, outer, at);
  });
}

RowParts::RowParts(FunctionBuilder& f, const StagePlan& plan)
    : first(f.i64(0)), after(f.dim(plan.lane.extent)), end(after), fewest(fewest_in_vectors(plan.ends, plan.native)) {
  for (const Dim& d : plan.interior->first)
    first = f.ir().CreateBinaryIntrinsic(llvm::Intrinsic::smax, first, f.dim(d));
  for (const Dim& d : plan.interior->after)
    after = f.ir().CreateBinaryIntrinsic(llvm::Intrinsic::smin, after, f.dim(d));
}

Value* RowParts::has_middle_of(FunctionBuilder& f, int64_t elements) const {
  return f.ir().CreateICmpSGE(f.ir().CreateSub(after, first), f.i64(elements));
}

void RowParts::for_each_end(FunctionBuilder& f, const std::function<void(Value*, Value*, Value*)>& body) const {
  llvm::IRBuilder<>& ir = f.ir();
  Value* enough = has_middle_of(f, fewest);
  Value* parts = ir.CreateSelect(enough, f.i64(2), f.i64(1));
  f.for_loop(f.i64(0), parts, f.i64(1), [&](Value* part) {
    Value* front = ir.CreateICmpEQ(part, f.i64(0));
    body(ir.CreateSelect(front, f.i64(0), after), ir.CreateSelect(ir.CreateAnd(front, enough), first, end),
         ir.CreateSelect(front, f.i64(0), ir.CreateSub(after, first)));
  });
}

std::vector<RowPiece> row_pieces(FunctionBuilder& f, const StagePlan& plan, Value* begin, Value* end) {
  llvm::IRBuilder<>& ir = f.ir();
  std::vector<RowPiece> result;
  auto add = [&](int lanes) {
    Value* length = ir.CreateSub(end, begin);
    Value* stop = ir.CreateAdd(begin, ir.CreateAnd(length, f.i64(-int64_t{lanes})));
    if (begin != stop) result.push_back({lanes, false, begin, stop});
    begin = stop;
  };
  add(plan.wide);
  if (plan.native < plan.wide) add(plan.native);
  if (begin == end) return result;
  if (plan.tail_in_halves && llvm::isa<llvm::Constant>(begin) && llvm::isa<llvm::Constant>(end)) {
    for (int lanes = plan.native / 2; lanes >= 1; lanes /= 2) add(lanes);
    return result;
  }
  if (plan.native > 1) result.push_back({plan.maskable ? plan.native : 1, plan.maskable, begin, end});
  return result;
}

Values run_piece(FunctionBuilder& f, const RowPiece& s, const Values& initial,
                 const std::function<Values(Value*, Value*, const Values&)>& body) {
  llvm::IRBuilder<>& ir = f.ir();
  if (s.masked) {
    auto rest = [&] { return body(s.begin, f.first_lanes(ir.CreateSub(s.end, s.begin), s.lanes), initial); };
    if (llvm::isa<llvm::Constant>(s.begin) && llvm::isa<llvm::Constant>(s.end)) return rest();
    return f.if_else(ir.CreateICmpSLT(s.begin, s.end), rest, [&] { return initial; });
  }
  const auto *first = llvm::dyn_cast<llvm::ConstantInt>(s.begin), *end = llvm::dyn_cast<llvm::ConstantInt>(s.end);
  const bool is_one_iteration =
      first != nullptr && end != nullptr && end->getSExtValue() - first->getSExtValue() == s.lanes;
  if (is_one_iteration) return body(s.begin, nullptr, initial);
  return f.for_loop(s.begin, s.end, f.i64(s.lanes), initial,
                    [&](Value* i, const Values& carried) { return body(i, nullptr, carried); });
}

Point lanes_at(const Point& point, int axis, int lanes, Value* i, Value* mask) {
  Point p = point;
  p.axes[axis] = i;
  p.lane_axis = axis;
  p.lanes = lanes;
  p.mask = mask;
  return p;
}

}  // namespace gcg::cpu
