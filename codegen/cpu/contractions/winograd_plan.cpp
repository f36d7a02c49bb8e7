#include "codegen/cpu/contractions/winograd_plan.h"

#include <algorithm>

#include "compiler/kernel/packing.h"
#include "compiler/kernel/winograd.h"

namespace gcg::cpu {
namespace {

constexpr int64_t block = kChannelBlock;
/// Limits of a task's tiles. A small number of tiles stays in a near cache while it is multiplied. With more weights, a
/// task needs more tiles, so that each weight is used more often (measured).
constexpr int64_t least_tiles = 12, most_tiles = 32, channels_per_tile = 32;
/// A small map gives few tasks. So its output channels are divided, too, although each task then transforms the inputs
/// again.
constexpr int64_t wanted_tasks = 4;

/// The size of the register tile, at most `most` tiles, that covers `tiles` with the least work. A larger register tile
/// needs fewer loads.
int64_t best_pixels(int64_t tiles, int64_t most) {
  int64_t best = most, least = 0;
  for (int64_t pixels = most; pixels >= std::max<int64_t>(1, most * 2 / 3); --pixels) {
    const int64_t work = blocks_of(tiles, pixels) * (pixels + 1);
    if (least == 0 || work < least) least = work, best = pixels;
  }
  return best;
}

void plan_groups(const ConvKernel& k, const CpuTarget& target, WinogradPlan& plan) {
  const int64_t blocks = blocks_of(k.out_channels, block);
  plan.lanes = target.lanes(DType::f32);
  plan.group_blocks = plan.lanes < block || blocks == 1 ? 1 : k.packing().columns() / block;
  plan.groups = blocks_of(blocks, plan.group_blocks);
  plan.vectors = plan.group_blocks * block / plan.lanes;
  const int64_t last = k.out_channels - (plan.groups - 1) * plan.group_blocks * block;
  plan.last_vectors = blocks_of(last, plan.lanes);
  if (plan.groups == 1) plan.vectors = plan.last_vectors;
}

/// The number of sums of a register tile that hides the latency of its multiply-adds.
constexpr int64_t enough_sums = 8;

}  // namespace

int64_t WinogradPlan::last_pixels() const {
  const int64_t half = (tile_pixels + 1) / 2;
  return half * vectors >= enough_sums ? half : tile_pixels;
}

WinogradPlan plan_winograd(const ConvKernel& k, const CpuTarget& target) {
  const WinogradVariant& variant = winograd_variant(k.winograd);
  WinogradPlan plan;
  plan_groups(k, target, plan);
  plan.tile_columns = ceil_div(k.out_width, k.winograd);
  plan.tile_count = ceil_div(k.out_height, k.winograd) * plan.tile_columns;
  const int64_t units = k.packing().units(), columns = plan.vectors * plan.lanes;
  const int64_t most_pixels = std::min<int64_t>(14, (target.vector_registers - plan.vectors - 1) / plan.vectors);
  const int64_t most = std::min(std::max(least_tiles, most_pixels) + k.in_channels / channels_per_tile, most_tiles);
  if (plan.tile_count.is_constant()) {
    const int64_t count = std::max<int64_t>(1, plan.tile_count.constant());
    plan.tiles = blocks_of(count, blocks_of(count, most));
    plan.tile_pixels = best_pixels(plan.tiles, most_pixels);
  } else {
    plan.tile_pixels = most_pixels;
    plan.tiles = std::max(most_pixels, most / plan.last_pixels() * plan.last_pixels());
  }
  plan.padded_tiles = blocks_of(plan.tiles, plan.tile_pixels) * plan.tile_pixels | 1;
  plan.tile_blocks = ceil_div(plan.tile_count, plan.tiles);
  const Dim spread = k.batch * plan.tile_blocks;
  if (spread.is_constant() && spread.constant() < wanted_tasks)
    plan.group_tasks = std::min(plan.groups, blocks_of(wanted_tasks, std::max<int64_t>(1, spread.constant())));
  plan.groups_per_task = blocks_of(plan.groups, plan.group_tasks);
  plan.group_tasks = blocks_of(plan.groups, plan.groups_per_task);
  plan.tasks = spread * Dim(plan.group_tasks);
  plan.sums_at = units * variant.products() * plan.padded_tiles * block;
  plan.outputs_at = plan.sums_at + variant.products() * plan.padded_tiles * columns;
  plan.scratch = plan.outputs_at + variant.tile * variant.tile * plan.lanes;
  return plan;
}

}  // namespace gcg::cpu
