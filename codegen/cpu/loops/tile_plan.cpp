#include "codegen/cpu/loops/tile_plan.h"

#include <algorithm>

#include "codegen/cpu/loops/lane_cost.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/loop_planning.h"

namespace gcg::cpu {

int tile_side(const Stage& stage, int native) {
  const auto bytes = static_cast<int>(lane_bytes(stage));
  return bytes >= 4 ? native : std::min(native, 16 / bytes);
}

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

int row_of_tile(const Stage& stage, const Axis& lane, std::vector<Axis> axes, const std::vector<Operand>& operands,
                int native) {
  const int side = tile_side(stage, native);
  if (!lane.extent.is(side)) return 0;
  std::erase_if(axes, [&](const Axis& a) { return a.id == lane.id; });
  return tile_of(stage, lane, axes, operands, side, side) ? side : 0;
}

}  // namespace gcg::cpu
