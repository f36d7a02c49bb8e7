// The plan of a LoopKernel on a CPU: the vector axis of each stage, and the size of a task.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "codegen/cpu/llvm/cpu_target.h"
#include "codegen/cpu/loops/loop_keep.h"
#include "codegen/cpu/loops/row_ends.h"
#include "codegen/cpu/loops/row_interior.h"
#include "codegen/cpu/loops/shared_work.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// One stage as a loop nest: scalar loops over `loops` (outermost first) around a vector loop over `lane`.
struct StagePlan {
  Stage stage;           // the stage with flat addresses and merged axes; `axes` is no longer used
  KeptValue kept_value;  // for a reduction: where its value is also stored (its `stage` is not used)
  std::vector<Axis> loops;
  Axis lane;       // id -1: the stage is a single point
  int native = 1;  // lanes of one vector register, for the element types of the stage
  int wide = 1;    // lanes of the main loop: native times the unrolling
  /// The main loop processes one register at a time, because masked and interleaved loads wider than a register are
  /// slow.
  bool by_registers = false;
  // For a store: elements before the first cache line that begins in the row are stored separately.
  bool aligned = false;
  bool overlaps = false;  // for a store: the last register may store elements again
  /// For a store whose value is simpler in the middle of `lane`. Such a store has no tiles.
  std::optional<RowInterior> interior;
  bool narrow_ends = false;  // at each end, the elements outside the interior fit in one register
  RowEnds ends;              // for a store with an interior
  /// The interior at points where the outer axes are in their middle, too: all conditions of `inner_rows` hold there.
  std::optional<RowInterior> inner;
  std::vector<RowInterior> inner_rows;
  /// The same store by half registers, for rows whose middle turns out to be shorter than a register. Null: none.
  std::shared_ptr<const StagePlan> narrower;
  /// For a store in which neighbours along `lane` are this axis's extent apart in memory. The elements between them lie
  /// along this axis, and their vectors are interleaved in registers. Id -1: none.
  Axis minor;
  std::vector<Expr> values;  // for a store: its value, or the values along `minor`
  std::optional<SharedWork>
      shared;  // for a store without interior, tiles and `minor`: one more loop, inside the vector loop
  // The rest of a short row uses fewer and fewer lanes, because masked stores of AVX2 are slow.
  bool tail_in_halves = false;
  bool maskable = true;  // the target has masked accesses for all of its element types
  /// For a reduction: only a run knows the row's length, and rows that fit in a register get code of their own. Kernels
  /// with sums do not have it.
  bool may_be_short = false;
  /// Loads that are contiguous along `tile_row`, not along `lane`. They are read by square tiles of `native` x `native`
  /// elements and transposed in registers. Empty: there are no tiles and no `tile_row`.
  std::vector<Expr> transposed;
  Axis tile_row;
};

struct LoopPlan {
  std::vector<Axis> outer;  // collapsed into one loop over points; tasks are chunks of it
  std::vector<StagePlan> stages;
  /// True if a task's points are runs along the last axis of `outer`, each a loop of its own. Addresses that do not
  /// depend on this axis are then computed once a run. It pays for rows that may be short.
  bool by_runs = false;
  /// Short rows along the last axis of `outer` that go through each stage together (rows_together.h). 0: none.
  int rows_together = 0;
  /// The lane axis of the only stage is cut into blocks of this many elements; 0: it is not cut. The innermost
  /// coordinate of a point is the block, or the outermost one of runs.
  int64_t row_block = 0;
  Axis block;  // the block coordinate, of `outer`; a block has `native` tile rows if there are tiles
  /// An outer axis whose neighbouring points are the lanes of vectors in all stages. It is chosen if memory runs along
  /// it and not along the stages' axes. `columns_together` of its points form one point, whose coordinate is `block`.
  /// The rest is processed `columns_at_end` at a time, masked. Id -1: none.
  Axis columns;
  int columns_together = 1, columns_at_end = 1;
  /// An array that stages use; it must be added to the kernel's operands (keep_reduced_row).
  std::optional<Operand> kept_row;
  Dim points = 1;
  Dim points_per_task = 1;
};

/// Plans a stage whose only axis is the vector axis.
StagePlan plan_row(const CpuTarget& target, Stage stage, const Axis& axis, const std::vector<Operand>& operands);

/// `rising`: arrays of indices that never fall.
LoopPlan plan_loops(const CpuTarget& target, const Kernel& kernel, const LoopKernel& loop,
                    const std::set<int>& rising = {});

}  // namespace gcg::cpu
