// How a LoopKernel runs on a GPU: which threads compute which elements.
//
//   elements  a single store: one thread per `vector` consecutive elements of the lane axis
//   groups    stages with reductions: `group` threads of a block share the stages' axes of one outer point
//   grid      stages whose points are few and rows long: blocks share the rows, a launch for each stage
//   tiles     a single store whose loads are contiguous along another axis: 32 x 32 elements through shared memory
#pragma once

#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg::cuda {

/// A value that a stage computes per element of its row and that later stages need again; it stays in registers.
struct KeptRow {
  struct Use {
    size_t stage;
    Expr node;      // the kept expression, in the stage's value
    bool computes;  // True in the first stage, which computes it; the others read it
  };
  DType dtype = DType::f32;
  std::vector<Use> uses;
};

struct StagePlan {
  Stage stage;              // the stage with flat addresses; `axes` is no longer used
  std::vector<Axis> loops;  // the loops around the lane axis, outermost first
  // Neighbouring threads have neighbouring elements of this axis; id -1: the stage is a single point.
  Axis lane;
  int vector = 1;  // elements of the lane axis that a thread processes at once
};

enum class ThreadMapping : uint8_t { elements, groups, grid, tiles };

struct LoopPlan {
  ThreadMapping mapping = ThreadMapping::elements;
  std::vector<Axis> outer;  // elements: all axes except the lane; tiles: all except the two of the tile
  std::vector<StagePlan> stages;
  int threads = 256;               // threads per block
  int group = 1;                   // number of threads per outer point: 1, 2, ..., 32 or the whole block
  bool across = false;             // groups of more than one thread: neighbouring threads have neighbouring points
  int chunks = 1;                  // grid: number of blocks that share a row
  std::vector<KeptRow> kept_rows;  // for groups whose stages all run over one axis of the same constant extent
  Axis tile_row;                   // tiles: the axis along which the transposed loads are contiguous
  std::vector<Expr> transposed;
};

/// Moves reductions inside a single store into stages of their own before it, if they are long and a GPU needs several
/// threads per reduction. (loop_hoist.cpp)
LoopKernel hoist_reductions(const LoopKernel& loop);

/// Merges equal reductions into one node, which is computed once. A scatter's lowering, for example, contains several
/// equal searches for the update that an element takes. (loop_hoist.cpp)
Expr share_reductions(const Expr& value);

LoopPlan plan_loops(const Kernel& kernel, const LoopKernel& loop);

/// Turns an elements plan into tiles if all strided loads run along one other axis of its store.
void plan_tiles(const Kernel& kernel, LoopPlan& plan);

/// Turns a finished groups plan into one of ThreadMapping::grid if groups would leave most of a large GPU idle;
/// otherwise returns false. `neighbours`: neighbouring points are neighbours in memory. (loop_grid_plan.cpp)
bool plan_grid(const Kernel& kernel, const LoopKernel& loop, bool neighbours, LoopPlan& plan);

/// The values worth keeping between the stages of a plan. Requires stages that share one lane axis. (loop_keep.cpp)
std::vector<KeptRow> plan_kept(const std::vector<StagePlan>& stages);

}  // namespace gcg::cuda
