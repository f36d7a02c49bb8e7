// Loops shared by loop kernels and programs: over the points of a task, and over one axis in vectors.
#pragma once

#include <functional>
#include <vector>

#include "codegen/cpu/expressions/expr_emitter.h"
#include "codegen/cpu/loops/loop_plan.h"

namespace gcg::cpu {

/// Runs `body` for the points of the function's tasks, `per_task` points each, in row-major order of `outer`; sets
/// their coordinates in `point`.
void for_each_point(FunctionBuilder& f, const std::vector<Axis>& outer, const Dim& per_task, Point& point,
                    const std::function<void()>& body);

/// The same in a loop over runs along the last axis. `each_run(run)` emits a run.
class PointRun;
void for_each_run(FunctionBuilder& f, const std::vector<Axis>& outer, const Dim& per_task, Point& point,
                  const std::function<void(const PointRun& run)>& each_run);

/// Points [begin, end) along an axis.
class PointRun {
 public:
  PointRun(FunctionBuilder& f, Point& point, const Axis& axis, llvm::Value* begin, llvm::Value* end)
      : begin(begin), end(end), axis(axis), f_(f), point_(point) {}
  /// Emits a loop over the points. `body(count)` emits `together` points, or one of the rest.
  void points(int together, const std::function<void(int count)>& body) const;

  llvm::Value *const begin, *const end;
  const Axis axis;

 private:
  FunctionBuilder& f_;
  Point& point_;
};

/// The parts of a row that has an interior: [0, first), the middle [first, after), and [after, end).
struct RowParts {
  RowParts(FunctionBuilder& f, const StagePlan& plan);

  /// True if the middle has at least this many elements.
  llvm::Value* has_middle_of(FunctionBuilder& f, int64_t elements) const;
  /// Emits a loop over the ends, with `body` once: body(begin, end, number of elements skipped before `begin`). If the
  /// middle is too short for the fewest lanes of the plan, the only end is the row.
  void for_each_end(FunctionBuilder& f,
                    const std::function<void(llvm::Value*, llvm::Value*, llvm::Value*)>& body) const;

  llvm::Value *first, *after, *end;
  int fewest;  // elements of the shortest middle that is stored in vectors
};

/// A piece of a row that is processed `lanes` at a time. `masked`: the rest of the row, shorter than `lanes`, in one
/// step.
struct RowPiece {
  int lanes = 1;
  bool masked = false;
  llvm::Value* begin = nullptr;
  llvm::Value* end = nullptr;
};

/// Splits [begin, end) of a stage's vector axis: wide steps, steps of one register, then the rest masked or one by one.
std::vector<RowPiece> row_pieces(FunctionBuilder& f, const StagePlan& plan, llvm::Value* begin, llvm::Value* end);

/// Runs body(i, mask, carried) over a piece.
FunctionBuilder::Values run_piece(
    FunctionBuilder& f, const RowPiece& s, const FunctionBuilder::Values& initial,
    const std::function<FunctionBuilder::Values(llvm::Value*, llvm::Value*, const FunctionBuilder::Values&)>& body);

/// `point`, with lanes along `axis` that start at `i`.
Point lanes_at(const Point& point, int axis, int lanes, llvm::Value* i, llvm::Value* mask);

}  // namespace gcg::cpu
