#include "codegen/cpu/loops/tile_plan.h"

#include <algorithm>

#include "codegen/cpu/loops/lane_cost.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/loop_planning.h"

namespace gcg::cpu {
namespace {

/// Rows and lanes of the tiles that a stage is transposed by: of small elements what one 16-byte block holds, or there
/// would be more rows than registers.
int tile_side(const Stage& stage, int native) {
  const auto bytes = static_cast<int>(lane_bytes(stage));
  return bytes >= 4 ? native : std::min(native, 16 / bytes);
}

/// Loads of the stage that tiles of `side` lanes along `lane` turn round, and the other axis of the tiles, of at least
/// `fewest` rows.
std::optional<Tile> tile_of(const Stage& stage, const Axis& lane, const std::vector<Axis>& axes,
                            const std::vector<Operand>& operands, int side, int fewest) {
  constexpr int kLargestBody = 24;  // it is emitted once per row of a tile
  const int64_t bytes = lane_bytes(stage);
  if (count_nodes(stage.value) > kLargestBody) return std::nullopt;
  const auto has_lane_size = [&](const Expr& load) {
    return size_of(load->dtype) == bytes && load->dtype != DType::boolean;  // which is a bit in a register
  };
  const auto is_long = [&](const Axis& a) {
    return !a.extent.is_constant() || a.extent.constant() >= (a.id == lane.id ? side : fewest);
  };
  return find_tile(stage, lane, axes, operands, side, has_lane_size, is_long);
}

}  // namespace

int row_of_tile(const Stage& stage, const Axis& lane, std::vector<Axis> axes, const std::vector<Operand>& operands,
                int native) {
  const int side = tile_side(stage, native);
  if (!lane.extent.is(side)) return 0;
  std::erase_if(axes, [&](const Axis& a) { return a.id == lane.id; });
  return tile_of(stage, lane, axes, operands, side, side) ? side : 0;
}

void plan_tiles(const CpuTarget& target, StagePlan& plan, std::vector<Axis>& axes,
                const std::vector<Operand>& operands) {
  const int whole = target.vector_bytes / static_cast<int>(lane_bytes(plan.stage));
  const int side = tile_side(plan.stage, whole);
  const bool fits = plan.native == whole || plan.native == side;
  if (plan.lane.id < 0 || plan.interior || plan.minor.id >= 0 || !fits) return;
  auto tile = tile_of(plan.stage, plan.lane, axes, operands, side, plan.maskable ? side / 2 : side);
  if (!tile) return;
  if (side != plan.native) plan.native = plan.wide = side;
  plan.transposed = std::move(tile->transposed);
  plan.tile_row = axes[tile->row];
  axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(tile->row));
}

}  // namespace gcg::cpu
