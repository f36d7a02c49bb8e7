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

/// A value that a stage computes per element of its row and that later stages want again: in registers.
struct KeptRow {
  struct Use {
    size_t stage;
    Expr node;      // where the stage has it
    bool computes;  // the first stage does; others read
  };
  DType dtype = DType::f32;
  std::vector<Use> uses;
};

struct StagePlan {
  Stage stage;              // with flat addresses; `axes` is not used any more
  std::vector<Axis> loops;  // outermost first, around the lane axis
  Axis lane;                // neighbouring threads have neighbouring elements of it; id -1: the stage is a single point
  int vector = 1;           // elements of the lane axis that a thread takes at once
};

enum class ThreadMapping : uint8_t { elements, groups, grid, tiles };

struct LoopPlan {
  ThreadMapping mapping = ThreadMapping::elements;
  std::vector<Axis> outer;  // elements: all axes but the lane; tiles: all but the two of the tile
  std::vector<StagePlan> stages;
  int threads = 256;          // of a block
  int group = 1;              // threads per outer point: 1, 2, ..., 32 or the whole block
  bool across = false;        // groups of more than one thread: neighbouring threads have neighbouring points
  int chunks = 1;             // grid: blocks that share a row
  std::vector<KeptRow> kept;  // groups; every stage then runs over one axis of the same constant extent
  Axis tile_row;              // tiles: the axis along which `transposed` are contiguous
  std::vector<Expr> transposed;
};

/// Reductions inside a single store become stages of their own, before it, where they are long and several threads have
/// to share one to keep a GPU busy. (loop_hoist.cpp)
LoopKernel hoist_reductions(const LoopKernel& loop);

/// Equal reductions become one node, which is computed once: a scatter's lowering asks several times which update it
/// takes. (loop_hoist.cpp)
Expr share_reductions(const Expr& value);

LoopPlan plan_loops(const Kernel& kernel, const LoopKernel& loop);

/// Where all strided loads of an elements plan run along one other axis of its store, makes tiles of the two.
void plan_tiles(const Kernel& kernel, LoopPlan& plan);

/// Makes a plan of groups, whose stages are there, one of ThreadMapping::grid where that leaves most of a large GPU
/// idle; false where it does not. `neighbours`: neighbouring points lie next to each other. (loop_grid_plan.cpp)
bool plan_grid(const Kernel& kernel, const LoopKernel& loop, bool neighbours, LoopPlan& plan);

/// Values worth keeping between the stages of a plan. Requires stages that share one lane axis. (loop_keep.cpp)
std::vector<KeptRow> plan_kept(const std::vector<StagePlan>& stages);

}  // namespace gcg::cuda
