#include "codegen/cpu/conv_plan.h"

#include <algorithm>

#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

constexpr int64_t block = 16;          // channels of one block
constexpr int64_t task_cycles = 8000;  // a task below that would notice its own set-up
constexpr int64_t line_bytes = 64;
constexpr int64_t l2_bytes = 1 << 20;

/// The tile's kernel columns, given the row's static lengths. Pixel `first` is the tile's leftmost output.
TileShape shape_at(const ConvKernel& k, int64_t first, int64_t pixels) {
  TileShape shape{pixels, {}};
  const int64_t in_width = k.in_width.constant();
  for (int64_t kw = 0; kw < k.kernel_w; ++kw) {
    KernelColumns columns{kw, 1, pixels, 0};
    for (int64_t p = 0; p < pixels; ++p) {
      const int64_t column = (first + p) * k.stride_w - k.pad_left + kw * k.dilation_w;
      if (column < 0 || column >= in_width) continue;
      columns.first = std::min(columns.first, p);
      columns.last = p + 1;
    }
    if (columns.first >= columns.last) continue;
    KernelColumns* before = shape.columns.empty() ? nullptr : &shape.columns.back();
    if (before && before->kw + before->count == kw && before->first == columns.first && before->last == columns.last)
      ++before->count;
    else
      shape.columns.push_back(columns);
  }
  return shape;
}

/// Pixels of a dense register tile: the registers beside the accumulators hold weights and a broadcast.
int64_t dense_pixels(const CpuTarget& target, int64_t vectors) {
  return std::clamp<int64_t>((target.vector_registers - vectors - 1) / vectors, 1, 14);
}

/// Pixels of a depthwise register tile: a kernel row of weights and the loads under way need registers too.
int64_t depthwise_pixels(const CpuTarget& target, int64_t kernel_w) {
  const int64_t loads = target.vector_registers >= 32 ? 10 : 0;
  return std::clamp<int64_t>(target.vector_registers - 2 * kernel_w - loads, 4, 14);
}

bool pointwise(const ConvKernel& k) {
  return k.kernel_h == 1 && k.kernel_w == 1 && k.stride_h == 1 && k.stride_w == 1 && k.pad_top == 0 &&
         k.pad_left == 0 && k.in_height == k.out_height && k.in_width == k.out_width;
}

/// Cycles of one full tile's reduction, at two multiply-adds a cycle.
int64_t tile_cycles(const ConvKernel& k, const ConvPlan& plan) {
  const int64_t depth = k.kernel_h * k.kernel_w * (k.depthwise ? 1 : k.in_channels);
  return std::max<int64_t>(1, plan.tile_pixels * plan.vectors * (depth + 2) / 2);
}

/// Units per task so that tasks are equal: `wanted`, or a little more or less where that divides `total`.
int64_t even_part(int64_t total, int64_t wanted) {
  wanted = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(total, 1));
  const int64_t parts = (total + wanted - 1) / wanted;
  return (total + parts - 1) / parts;
}

void plan_tasks(const ConvKernel& k, ConvPlan& plan) {
  const int64_t wanted = std::max<int64_t>(1, task_cycles / tile_cycles(k, plan));  // tiles
  const bool known = plan.row_pixels.is_constant();
  const int64_t row_tiles = known ? (plan.row_pixels.constant() + plan.tile_pixels - 1) / plan.tile_pixels : 4;
  const Dim tiles = ceil_div(plan.row_pixels, plan.tile_pixels);
  if (plan.rows.is(1) || (known && row_tiles > 4 * wanted)) {
    plan.tiles_per_task = known ? even_part(row_tiles, wanted) : wanted;
  } else {
    const int64_t rows = std::max<int64_t>(1, wanted / std::max<int64_t>(row_tiles, 1));
    plan.rows_per_task = plan.rows.is_constant() ? even_part(plan.rows.constant(), rows) : rows;
  }
  plan.row_blocks = ceil_div(plan.rows, plan.rows_per_task);
  plan.tile_blocks = plan.tiles_per_task ? ceil_div(tiles, plan.tiles_per_task) : Dim(1);
  plan.tasks = k.batch * Dim(plan.groups) * plan.row_blocks * plan.tile_blocks;
}

/// Small maps reuse a panel of weights few times: then the weights are the stream and the panel's next neighbour is
/// fetched while this one is used. On large maps the input is the stream and all weights stay near.
void plan_order(const ConvKernel& k, ConvPlan& plan) {
  if (k.depthwise) {
    plan.groups_outer = true;
    return;
  }
  const int64_t taps = k.kernel_h * k.kernel_w * k.in_channels;
  const int64_t weight_bytes = taps * plan.groups * plan.group_blocks * block * 4;
  const Dim pixels = plan.rows * plan.row_pixels;
  const bool small_map = pixels.is_constant() && pixels.constant() <= 28 * 28;
  plan.groups_outer = weight_bytes > l2_bytes / 2 || (small_map && pixels.constant() <= 14 * 14);
  if (!plan.groups_outer || !small_map || k.input_plain) return;
  const int64_t row_tiles = (plan.row_pixels.constant() + plan.tile_pixels - 1) / plan.tile_pixels;
  const int64_t tiles = std::max<int64_t>(1, plan.rows.constant() * row_tiles);
  const int64_t lines = block * plan.group_blocks * block * 4 / line_bytes;
  plan.prefetch_lines = std::min<int64_t>(8, (lines + tiles - 1) / tiles);
}

}  // namespace

std::vector<TileSegment> cover_row(const ConvKernel& k, int64_t row_pixels, int64_t tile_pixels) {
  std::vector<TileSegment> segments;
  const int64_t tiles = (row_pixels + tile_pixels - 1) / tile_pixels;
  int64_t pixel = 0;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t pixels = row_pixels / tiles + (t < row_pixels % tiles ? 1 : 0);
    TileShape shape = shape_at(k, pixel, pixels);
    if (!segments.empty() && segments.back().shape == shape)
      ++segments.back().tiles;
    else
      segments.push_back({t, 1, pixel, std::move(shape)});
    pixel += pixels;
  }
  return segments;
}

ConvPlan plan_conv(const ConvKernel& k, const CpuTarget& target, bool flat_allowed) {
  ConvPlan plan;
  plan.lanes = target.lanes(DType::f32);
  GCG_CHECK(block % plan.lanes == 0, "vectors of ", plan.lanes, " lanes");
  const int64_t blocks = (k.out_channels + block - 1) / block;
  const int64_t block_vectors = block / plan.lanes;
  plan.group_blocks = k.depthwise || block_vectors > 1 || blocks == 1 ? 1 : 2;
  plan.groups = (blocks + plan.group_blocks - 1) / plan.group_blocks;
  plan.last_group_blocks = blocks - (plan.groups - 1) * plan.group_blocks;
  plan.vectors = k.depthwise ? 1 : plan.group_blocks * block_vectors;
  plan.tile_pixels = k.depthwise ? depthwise_pixels(target, k.kernel_w) : dense_pixels(target, plan.vectors);
  plan.flat = flat_allowed && !k.depthwise && !k.input_plain && pointwise(k);
  plan.rows = plan.flat ? Dim(1) : k.out_height;
  plan.row_pixels = plan.flat ? k.out_height * k.out_width : k.out_width;
  const bool static_row = plan.row_pixels.is_constant() && (plan.flat || k.in_width.is_constant());
  if (static_row) {
    ConvKernel row = k;
    if (plan.flat) row.in_width = plan.row_pixels;
    plan.segments = cover_row(row, plan.row_pixels.constant(), plan.tile_pixels);
    if (!plan.segments.empty()) plan.tile_pixels = plan.segments.front().shape.pixels;
  }
  plan_order(k, plan);
  plan_tasks(k, plan);
  return plan;
}

}  // namespace gcg::cpu
