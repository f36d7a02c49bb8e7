// How a LoopKernel runs on a CPU: which axis is the vector axis of each stage, and what a task is.
#pragma once

#include <optional>
#include <vector>

#include "codegen/cpu/llvm/cpu_target.h"
#include "codegen/cpu/loops/loop_keep.h"
#include "codegen/cpu/loops/row_interior.h"
#include "codegen/cpu/loops/shared_work.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// One stage as a loop nest: scalar loops over `loops` (outermost first) around a vector loop over `lane`.
struct StagePlan {
  Stage stage;     // with flat addresses and merged axes; `axes` is not used any more
  KeptValue kept;  // of a reduction: where its value is stored as well (`stage` is not used)
  std::vector<Axis> loops;
  Axis lane;       // id -1: the stage is a single point
  int native = 1;  // lanes of one vector register for its element types
  int wide = 1;    // lanes of the main loop: native times the unrolling
  /// The main loop does its lanes one register at a time: masked and interleaved loads are slow if wider than a
  /// register.
  bool by_registers = false;
  bool aligned = false;   // of a store: what precedes the first cache line that begins in a row is stored by itself
  bool overlaps = false;  // of a store: the last register may do lanes again that are done
  /// Of a store whose value is simpler in the middle of `lane`; then there are no tiles.
  std::optional<RowInterior> interior;
  bool narrow_ends = false;  // what is beside the interior fits into a register at each end
  bool ends_apart = false;   // rows without a register of middle are done element by element: lanes would gather
  /// The same where axes outside of `lane` are in their middle, too: where all of `inner_rows` hold.
  std::optional<RowInterior> inner;
  std::vector<RowInterior> inner_rows;
  /// Of a store whose elements along `lane` are as many apart as this axis has: between them lie those along this axis,
  /// and vectors of each are interleaved in registers. Id -1: none.
  Axis minor;
  std::vector<Expr> values;  // of a store: its value, or those along `minor`
  std::optional<SharedWork>
      shared;                   // of a store without interior, tiles and `minor`: one more loop, inside the vector loop
  bool tail_in_halves = false;  // what is left of a short row by ever fewer lanes: masked stores of AVX2 are slow
  bool maskable = true;         // the target has masked accesses for all of its element types
  /// Loads that are contiguous along `tile_row`, not along `lane`: read by square tiles of `native` x `native` elements
  /// and transposed in registers. Empty: no tiles, and `tile_row` is none.
  std::vector<Expr> transposed;
  Axis tile_row;
};

struct LoopPlan {
  std::vector<Axis> outer;  // collapsed into one loop over points; tasks are chunks of it
  std::vector<StagePlan> stages;
  /// The lane axis of the only stage is cut into blocks of this many elements, the innermost coordinate of a point is
  /// the block; 0: not cut.
  int64_t row_block = 0;
  Axis block;  // the block coordinate, last of `outer`; of `native` tile rows if there are tiles
  /// Neighbouring points of this outer axis are lanes of vectors that go through all stages together, where memory runs
  /// along it and not along the stages' axes: `columns_together` of them are one point, `block` their coordinate; what
  /// is left is done `columns_at_end` at a time, masked. None: id -1.
  Axis columns;
  int columns_together = 1, columns_at_end = 1;
  /// An array that stages use, to be added to the kernel's operands (keep_reduced_row).
  std::optional<Operand> kept_row;
  Dim points = 1;
  Dim points_per_task = 1;
};

/// A stage whose only axis is the vector axis.
StagePlan plan_row(const CpuTarget& target, Stage stage, const Axis& axis, const std::vector<Operand>& operands);

LoopPlan plan_loops(const CpuTarget& target, const Kernel& kernel, const LoopKernel& loop);

}  // namespace gcg::cpu
