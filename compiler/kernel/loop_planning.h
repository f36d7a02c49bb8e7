// What planning the loops of a kernel has in common on all machines. A backend says what a lane axis costs it and how
// wide its vectors, tiles and blocks are (codegen/cpu/loops/loop_plan.h, codegen/cuda/loops/loop_plan.h).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// One stage that stores: its axes are all the axes, and all are parallel.
bool is_single_store(const LoopKernel& loop);

/// How many points axes have together.
Dim extent_of(const std::vector<Axis>& axes);
/// Surely?
bool is_below(const Dim& extent, int64_t limit);

/// What it costs a machine that neighbouring lanes (of a vector, threads of a warp) are neighbours along the axis.
using LaneCost = std::function<double(const Stage&, const Axis&)>;

/// The number of the cheapest of `axes`, the innermost among equals; nullopt if there are none. Asks for the cost of
/// each once, in order.
std::optional<size_t> best_lane(const Stage& stage, const std::vector<Axis>& axes, const LaneCost& cost);

/// The outer axis along which neighbouring points use memory better than neighbouring elements of the stages' own axes
/// do; nullopt: there is none that `fits`.
std::optional<Axis> outer_lane(const LoopKernel& loop, const LaneCost& cost,
                               const std::function<bool(const Axis&)>& fits);

/// A store along `lane` whose loads that jump along it are all contiguous along another axis: tiles of the two axes are
/// read along `row` and turned round.
struct Tile {
  size_t row = 0;                // in `axes`
  std::vector<Expr> transposed;  // the loads that jump, in order; equal ones may occur several times
};
/// nullopt where the store is not contiguous along the lane axis, a load that jumps is one that the machine cannot turn
/// round, something is reduced, or one of the axes is too short. A tile's rows begin at a multiple of `run`, which is
/// at least their number.
std::optional<Tile> find_tile(const Stage& stage, const Axis& lane, const std::vector<Axis>& axes,
                              const std::vector<Operand>& operands, int64_t run,
                              const std::function<bool(const Expr&)>& can_turn,
                              const std::function<bool(const Axis&)>& is_long);

/// `e` at points of `axis` from `first` on, a multiple of `run`, but before the next one: what multiples of `run`
/// divide there has the quotient of `first`, and a remainder that steps with the axis. 1: nothing is known.
Expr in_run(const Expr& e, const Axis& axis, int64_t run, const Expr& first);

}  // namespace gcg
