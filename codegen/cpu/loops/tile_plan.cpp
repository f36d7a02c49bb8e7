#include "codegen/cpu/loops/tile_plan.h"

#include <algorithm>
#include <bit>

#include "codegen/cpu/loops/lane_cost.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/loop_planning.h"

namespace gcg::cpu {

int tile_side(const Stage& stage, const Axis& lane, int native) {
  const auto bytes = static_cast<int>(lane_bytes(stage));
  const int side = bytes >= 4 ? native : std::min(native, 16 / bytes);
  if (!lane.extent.is_constant() || lane.extent.constant() < kFewestTiled || lane.extent.constant() >= side)
    return side;
  const auto columns = static_cast<unsigned>(lane.extent.constant());
  return std::max(static_cast<int>(std::bit_ceil(columns)), 16 / bytes);
}

bool has_whole_blocks(const std::vector<Expr>& loads, int side) {
  return std::all_of(loads.begin(), loads.end(),
                     [side](const Expr& load) { return side * size_of(load->dtype) % 16 == 0; });
}

std::optional<Tile> tile_of(const Stage& stage, const Axis& lane, const std::vector<Axis>& axes,
                            const std::vector<Operand>& operands, int side, int fewest) {
  constexpr int kLargestBody = 24;  // larger bodies are not tiled, because code is emitted once per row of a tile
  const int64_t bytes = lane_bytes(stage);
  if (count_nodes(stage.value) > kLargestBody) return std::nullopt;
  const auto can_transpose = [&](const Expr& load) {  // a boolean is a single bit in a register
    return size_of(load->dtype) <= bytes && has_whole_blocks({load}, side) && load->dtype != DType::boolean;
  };
  const auto is_long = [&](const Axis& a) {
    return !a.extent.is_constant() || a.extent.constant() >= (a.id == lane.id ? std::min(side, kFewestTiled) : fewest);
  };
  return find_tile(stage, lane, axes, operands, side, can_transpose, is_long);
}

int row_of_tile(const Stage& stage, const Axis& lane, std::vector<Axis> axes, const std::vector<Operand>& operands,
                int native) {
  const int side = tile_side(stage, lane, native);
  if (!lane.extent.is_constant() || lane.extent.constant() < std::min(side, kFewestTiled)) return 0;
  std::erase_if(axes, [&](const Axis& a) { return a.id == lane.id; });
  return tile_of(stage, lane, axes, operands, side, side) ? side : 0;
}

}  // namespace gcg::cpu
