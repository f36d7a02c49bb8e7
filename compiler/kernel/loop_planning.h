// Loop planning that is common to all machines. A backend gives the cost of a lane axis and the widths of its vectors,
// tiles and blocks (codegen/cpu/loops/loop_plan.h, codegen/cuda/loops/loop_plan.h).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// True if the loop is one stage that stores. The loop has no axes besides the stage's own, and these are all parallel.
bool is_single_store(const LoopKernel& loop);

/// The product of the axes' extents.
Dim extent_of(const std::vector<Axis>& axes);
/// True if the extent is below the limit for all values of its symbols.
bool is_below(const Dim& extent, int64_t limit);

/// Cost, on one machine, of making the axis the lane axis. Neighbouring lanes (of a vector, or threads of a warp) are
/// neighbours along the lane axis.
using LaneCost = std::function<double(const Stage&, const Axis&)>;

/// The position of the cheapest of `axes`, the innermost of equally cheap ones; nullopt if there are none. Calls `cost`
/// once per axis, in order.
std::optional<size_t> best_lane(const Stage& stage, const std::vector<Axis>& axes, const LaneCost& cost);

/// Among the outer axes that `fits` accepts: the one with the least lane cost, because its neighbouring points use
/// memory best. nullopt if there is none, or if the stages' own axes cost no more.
std::optional<Axis> outer_lane(const LoopKernel& loop, const LaneCost& cost,
                               const std::function<bool(const Axis&)>& fits);

/// Describes a store along `lane` whose strided loads are all contiguous along another axis. The kernel reads tiles of
/// the two axes along `row` and transposes them.
struct Tile {
  size_t row = 0;                // in `axes`
  std::vector<Expr> transposed;  // the strided loads, in order; equal ones may occur several times
};
/// nullopt if the store is not contiguous along the lane axis, if `can_transpose` rejects a strided load, if something
/// is reduced, or if one of the axes is too short. A tile's rows begin at a multiple of `run`, which is at least their
/// number.
std::optional<Tile> find_tile(const Stage& stage, const Axis& lane, const std::vector<Axis>& axes,
                              const std::vector<Operand>& operands, int64_t run,
                              const std::function<bool(const Expr&)>& can_transpose,
                              const std::function<bool(const Axis&)>& is_long);

/// Simplifies `e` for the points [first, first + run) of `axis`, where `first` is a multiple of `run`. Within such a
/// run, the quotient by a multiple of `run` is constant, and the remainder grows with the axis. `run` = 1: nothing is
/// known.
Expr in_run(const Expr& e, const Axis& axis, int64_t run, const Expr& first);

}  // namespace gcg
