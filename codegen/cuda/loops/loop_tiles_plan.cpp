// Decides when a store uses tiles.
#include <algorithm>

#include "codegen/cuda/loops/loop_plan.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/loop_planning.h"

namespace gcg::cuda {
namespace {

constexpr size_t kMostTiles = 3;
constexpr int64_t kShortest = 8;  // axis of a tile

std::vector<Expr> distinct(const std::vector<Expr>& loads) {
  std::vector<Expr> all;
  for (const Expr& e : loads)
    if (std::none_of(all.begin(), all.end(), [&](const Expr& other) { return key(other) == key(e); })) all.push_back(e);
  return all;
}

}  // namespace

void plan_tiles(const Kernel& kernel, LoopPlan& plan) {
  StagePlan& s = plan.stages[0];
  if (s.lane.id < 0) return;
  const auto is_strided = [&](const Expr& load) {
    return address_stride(kernel.operands[static_cast<size_t>(load->operand)], load->args, s.lane.id).has_value();
  };
  const auto tile = find_tile(s.stage, s.lane, plan.outer, kernel.operands, 1, is_strided,
                              [](const Axis& a) { return !is_below(a.extent, kShortest); });
  if (!tile) return;
  const std::vector<Expr> transposed = distinct(tile->transposed);
  if (transposed.size() > kMostTiles) return;
  plan.mapping = ThreadMapping::tiles;
  plan.tile_row = plan.outer[tile->row];
  plan.transposed = transposed;
  plan.outer.erase(plan.outer.begin() + static_cast<std::ptrdiff_t>(tile->row));
  s.vector = 1;
}

}  // namespace gcg::cuda
