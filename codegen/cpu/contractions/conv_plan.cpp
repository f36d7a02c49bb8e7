#include "codegen/cpu/contractions/conv_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "codegen/cpu/contractions/tile_kernel.h"
#include "compiler/kernel/machine.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

constexpr int64_t block = 16;  // channels of one block
constexpr int64_t float_bytes = 4;
// Cycles of a task. In shorter tasks the set-up would be noticeable. With fewer tasks than wanted, the work does not
// spread evenly over many threads.
constexpr int64_t least_task_cycles = 4000, most_task_cycles = 8000, wanted_tasks = 128;
// Passes over the depth: bytes of a panel that one pass reads, and pixels of a task. With this many pixels, a panel
// from L3 is used long enough.
constexpr int64_t pass_bytes = 64 << 10, pass_pixels = 112;
constexpr int64_t most_prefetched = 8;  // most prefetched lines

/// Pixels of a dense register tile. The registers that are not accumulators hold weights and a broadcast; without VNNI
/// they also hold a product and a constant. With more sums, the scheduler mixes more k steps.
int64_t dense_pixels(const CpuTarget& target, int64_t vectors, Multiply multiply) {
  const bool in_steps =
      multiply == Multiply::widened_bytes || multiply == Multiply::narrow_bytes || multiply == Multiply::signed_bytes;
  const int64_t others = multiply == Multiply::pairs ? 2 : !in_steps ? 1 : target.has_avx512() ? 5 : 3;
  return std::clamp<int64_t>((target.vector_registers - vectors - others) / vectors, 1, 14);
}

/// Taps of a kernel row whose weights a depthwise tile holds at a time.
int64_t depthwise_taps(const CpuTarget& target, int64_t kernel_w) {
  return target.vector_registers >= 32 ? kernel_w : std::min<int64_t>(kernel_w, 4);
}

/// Pixels of a depthwise register tile. The weights that it holds, and loads in flight, also need registers.
int64_t depthwise_pixels(const CpuTarget& target, int64_t kernel_w) {
  const int64_t loads = target.vector_registers >= 32 ? 10 : 0;
  return std::clamp<int64_t>(target.vector_registers - 2 * depthwise_taps(target, kernel_w) - loads, 4, 14);
}

/// Pixels of a register tile of one vector whose lanes belong to several groups (conv_lanes.cpp). Weights, masks that
/// select the lanes of a group, and a few channels in flight also need registers.
int64_t by_lane_pixels(const CpuTarget& target) { return target.vector_registers >= 32 ? 14 : 10; }

/// Cycles of the reduction of one full tile, at two multiply-adds per cycle.
int64_t tile_cycles(const ConvKernel& k, const ConvPlan& plan) {
  const int64_t words =
      plan.widens() ? k.packing().units() * block / 2
                    : blocks_of(k.packing().inputs, k.packing().vnni_group()) * DotProduct::parts(plan.multiply);
  const int64_t depth = k.taps() * words;
  return std::max<int64_t>(1, plan.largest_tile() * plan.vectors * (depth + 2) / 2);
}

/// Units per task, so that tasks are equal: `preferred`, or a slightly different number that divides `total`.
int64_t even_part(int64_t total, int64_t preferred) {
  preferred = std::clamp<int64_t>(preferred, 1, std::max<int64_t>(total, 1));
  const int64_t parts = (total + preferred - 1) / preferred;
  return (total + parts - 1) / parts;
}

int64_t tiles_of(const std::vector<TileSegment>& segments) {
  return segments.empty() ? 0 : segments.back().first_tile + segments.back().tiles;
}

/// The most words of a widened image that a thread may keep.
constexpr int64_t most_widened_words = 1 << 20;

/// Operands that are used often enough are converted in advance: widened to pairs, or narrowed to pairs of bf16. This
/// requires that the image is known to fit.
void plan_widening(const ConvKernel& k, const CpuTarget& target, DType weights, ConvPlan& plan) {
  const Dim image = k.in_depth * k.in_height * k.in_width * Dim(blocks_of(k.in_channels, block) * (block / 2));
  const bool halves =
      target.has_bf16 && !k.bytes && weights == DType::bf16 && !k.input_plain &&
      (!target.has_amx || fills_tiles(k));  // on CPUs with AMX, vectors multiply pairs at half the speed of f32
  if (!(halves || plan.multiply == Multiply::widened_bytes) || k.packing().by_lane() || !image.is_constant() ||
      image.constant() > most_widened_words)
    return;
  plan.multiply = halves ? Multiply::halves : Multiply::pairs;
  plan.widened_image = image.constant();
}

/// Plans passes if the panel exceeds half of the L2 that all CPUs of the target have. The panel includes the columns
/// between those that it uses. Without passes, every tile would read the panel again from beyond L2.
void plan_passes(const ConvKernel& k, const CpuTarget& target, ConvPlan& plan) {
  if (k.packing().by_lane() || k.input_plain || plan.multiply != Multiply::floats) return;
  const int64_t units = k.packing().units(), bytes = k.packing().panel_elements(k.taps()) * plan.word_bytes;
  if (units < 2 || bytes <= target.l2_bytes) return;
  plan.units_per_pass = std::clamp<int64_t>(pass_bytes * units / bytes, 1, units - 1);
}

int64_t tiles_per_task(const ConvKernel& k, const ConvPlan& plan, int64_t row_tiles) {
  if (plan.units_per_pass > 0 || plan.widens()) return std::max<int64_t>(1, pass_pixels / plan.largest_tile());
  const int64_t cycles = tile_cycles(k, plan);
  const int64_t least = std::max<int64_t>(1, least_task_cycles / cycles);
  const int64_t most = std::max<int64_t>(1, most_task_cycles / cycles);
  if (!plan.row_steps.is_constant()) return most;
  return std::clamp(plan.groups * plan.row_steps.constant() * row_tiles / wanted_tasks, least, most);
}

void plan_tasks(const ConvKernel& k, ConvPlan& plan) {
  const bool known = !plan.symbolic_row();
  const int64_t row_tiles = known ? tiles_of(plan.column_tiles) : 4;
  const int64_t preferred = tiles_per_task(k, plan, row_tiles);
  const Dim tiles = known ? Dim(row_tiles) : ceil_div(plan.row_pixels, plan.tile_pixels);
  // The sums of a row of unknown length have no fixed offset in scratch memory.
  const bool cut_rows = known ? row_tiles > 4 * preferred : plan.units_per_pass > 0;
  if (plan.row_steps.is(1) || cut_rows) {
    plan.tiles_per_task = known ? even_part(row_tiles, preferred) : preferred;
  } else {
    const int64_t rows = std::max<int64_t>(1, preferred / std::max<int64_t>(row_tiles, 1));
    plan.rows_per_task = plan.row_steps.is_constant() ? even_part(plan.row_steps.constant(), rows) : rows;
  }
  plan.row_blocks = ceil_div(plan.row_steps, plan.rows_per_task);
  plan.tile_blocks = plan.tiles_per_task ? ceil_div(tiles, plan.tiles_per_task) : Dim(1);
  plan.tasks = Dim(plan.groups) * plan.regions(k);
}

int64_t weight_bytes(const ConvKernel& k, const ConvPlan& plan) {
  return k.packing().panels() * k.packing().panel_elements(k.taps()) * plan.word_bytes / k.packing().vnni_group();
}

int64_t panel_bytes(const ConvKernel& k, const ConvPlan& plan) {
  return weight_bytes(k, plan) / std::max<int64_t>(1, plan.groups);
}

/// Bytes of the input that a region reads; nullopt: not known.
std::optional<int64_t> region_bytes(const ConvKernel& k, const ConvPlan& plan) {
  const Dim& width = plan.flat ? plan.row_pixels : k.in_width;
  if (plan.tiles_per_task == 0 && !width.is_constant()) return std::nullopt;
  const int64_t channels = k.packing().inputs * plan.word_bytes / k.packing().vnni_group();  // bytes of a pixel
  const int64_t pixels = plan.tiles_per_task > 0
                             ? plan.tiles_per_task * plan.tile_pixels * (plan.flat ? 1 : k.stride_w * k.stride_h)
                             : plan.rows_per_task * k.stride_h * width.constant();
  return std::max<int64_t>(1, pixels * channels);
}

Dim regions_of_image(const ConvKernel& k, const ConvPlan& plan) {
  return plan.row_blocks * plan.tile_blocks * k.out_depth;
}

/// Applies if weights and map are both too large for L2. A group then covers as many regions as can keep their inputs
/// in L2 together with the group's panel. Nullopt if this does not reduce reads from beyond L2, compared with a pass of
/// each group over the whole map.
std::optional<int64_t> regions_in_l2(const ConvKernel& k, const CpuTarget& target, const ConvPlan& plan) {
  if (plan.units_per_pass > 0 || plan.widens() || k.input_plain) return std::nullopt;
  const std::optional<int64_t> bytes = region_bytes(k, plan);
  if (!bytes) return std::nullopt;
  const bool small_map = plan.prefetch_lines > 0 && !plan.symbolic_row();
  const int64_t l2 = std::max(target.l2_bytes, small_map ? kL2OfSmallMaps : kCommonL2);
  int64_t together = std::max(l2 / 4, l2 / 4 * 3 - panel_bytes(k, plan)) / *bytes;
  const Dim of_image = regions_of_image(k, plan);
  if (small_map && of_image.is_constant() && *bytes * of_image.constant() <= l2) {
    // A group covers whole images before the next group starts. If all images fit, it covers all of them.
    together = std::max<int64_t>(1, together / of_image.constant()) * of_image.constant();
    if (k.batch.is_constant() && k.batch.constant() * of_image.constant() <= together) return std::nullopt;
  }
  if (together < 2) return std::nullopt;
  const Dim regions = plan.regions(k);
  const auto beyond = [&](int64_t count) {  // bytes read from beyond L2 for `count` regions, if all weights are read
                                            // once for each `together` of them
    return weight_bytes(k, plan) * ((count + together - 1) / together) + count * *bytes;
  };
  if (!regions.is_constant()) return together;
  const int64_t count = regions.constant(), by_group = weight_bytes(k, plan) + plan.groups * count * *bytes;
  return beyond(count) < by_group / 4 * 3 ? std::optional(together) : std::nullopt;
}

/// Applies if all weights stay in L2. If a panel is larger than a region's input, reading the input again for each
/// group costs less.
std::optional<int64_t> regions_near(const ConvKernel& k, const CpuTarget& target, const ConvPlan& plan) {
  const bool panel_is_more =
      plan.symbolic_row() && panel_bytes(k, plan) > region_bytes(k, plan).value_or(std::numeric_limits<int64_t>::max());
  return panel_is_more ? regions_in_l2(k, target, plan).value_or(1) : 1;
}

/// Lines of a 16 x (16*group_blocks) block of weights.
int64_t lines_of_block(const ConvKernel& k, const ConvPlan& plan) {
  const int64_t row = std::max(plan.group_blocks * block * plan.word_bytes, kCacheLine);  // by whole lines
  return block * row / k.packing().vnni_group() / kCacheLine;
}

/// Plans how many tiles prefetch the next panel, which is read once from beyond L2. Maps of unknown size may be small,
/// so the first few tiles fetch all of it. Prefetching lines that are in L2 already costs most tiles next to nothing.
/// It costs much in the short tiles between the borders of symbolic rows (measured).
void plan_prefetch(const ConvKernel& k, ConvPlan& plan, std::optional<int64_t> tiles) {
  if (k.packing().by_lane() || k.input_plain || plan.units_per_pass > 0 || plan.widens()) return;
  const int64_t lines = lines_of_block(k, plan);
  plan.prefetch_lines = std::min(most_prefetched, tiles ? (lines + *tiles - 1) / *tiles : lines);
  plan.prefetching_tiles = (lines + plan.prefetch_lines - 1) / plan.prefetch_lines;
}

/// Tiles of a region; rows and tiles are known.
int64_t tiles_of_region(const ConvPlan& plan) {
  return plan.tiles_per_task > 0 ? plan.tiles_per_task : plan.rows_per_task * tiles_of(plan.column_tiles);
}

/// Small maps reuse a panel of weights few times. The weights are then streamed from memory, and the next panel is
/// prefetched while this one is used. On large maps the input is streamed, and all weights stay in a near cache.
void plan_order(const ConvKernel& k, ConvPlan& plan) {
  if (k.packing().by_lane()) {
    plan.regions_together = std::nullopt;
    return;
  }
  const Dim pixels = plan.rows * plan.row_pixels;
  const bool small_map = pixels.is_constant() && !plan.symbolic_row() && pixels.constant() <= int64_t{28} * 28;
  if (plan.symbolic_row() && plan.flat) plan_prefetch(k, plan, std::nullopt);
  if (weight_bytes(k, plan) <= kCommonL2 && !(small_map && pixels.constant() <= int64_t{14} * 14)) return;
  plan.regions_together = std::nullopt;
  if (small_map) plan_prefetch(k, plan, std::max<int64_t>(1, plan.row_steps.constant() * tiles_of(plan.column_tiles)));
}

/// True if the convolution keeps the map's size and its taps are far apart. On small maps, all pixels may then miss the
/// same taps.
bool is_atrous(const ConvKernel& k) {
  constexpr int64_t far = 4;  // the least dilation for which taps count as far apart
  const bool one_to_one =
      k.stride_h == 1 && k.stride_w == 1 && k.in_height == k.out_height && k.in_width == k.out_width;
  return one_to_one && k.dilation_h >= far && k.dilation_w >= far && k.kernel_h > 1 && k.kernel_w > 1;
}

/// Cuts the map into tiles where its extents are known.
void plan_tiles(const ConvKernel& k, ConvPlan& plan) {
  plan.row_steps = plan.rows;
  if (!plan.row_pixels.is_constant() || !(plan.flat || k.in_width.is_constant())) return;
  const int64_t most = plan.tile_pixels, row = plan.row_pixels.constant();
  ConvAxis columns{row, row};
  if (!plan.flat) columns = {k.in_width.constant(), row, k.kernel_w, k.stride_w, k.dilation_w, k.pad_left};
  plan.column_tiles = cover_axis(columns, most);
  if (plan.column_tiles.empty()) return;
  plan.tile_pixels = plan.column_tiles.front().tile.positions;
  if (k.packing().by_lane() || plan.rows.is(1) || 2 * row > most || !k.in_height.is_constant()) return;
  const ConvAxis rows{k.in_height.constant(), k.out_height.constant(), k.kernel_h, k.stride_h, k.dilation_h, k.pad_top};
  plan.row_tiles = cover_axis(rows, most / row);
  plan.row_steps = tiles_of(plan.row_tiles);
}

}  // namespace

int64_t ConvPlan::largest_tile() const {
  return (row_tiles.empty() ? 1 : row_tiles.front().tile.positions) * tile_pixels;
}

Dim ConvPlan::scratch_bytes() const {
  if (widens()) return (widened_image + widened_panel) * float_bytes;
  if (units_per_pass == 0) return 0;
  const int64_t tiles = tiles_per_task > 0 ? tiles_per_task : rows_per_task * tiles_of(column_tiles);
  return tiles * largest_tile() * vectors * lanes * float_bytes;
}

TileAxis tile_at(const ConvAxis& axis, int64_t first, int64_t positions) {
  TileAxis tile{positions, {}};
  for (int64_t tap = 0; tap < axis.kernel; ++tap) {
    KernelTaps taps{tap, 1, positions, 0};
    for (int64_t p = 0; p < positions; ++p) {
      const int64_t place = (first + p) * axis.stride - axis.pad + tap * axis.dilation;
      if (place < 0 || place >= axis.in) continue;
      taps.first = std::min(taps.first, p);
      taps.last = p + 1;
    }
    if (taps.first >= taps.last) continue;
    KernelTaps* before = tile.taps.empty() ? nullptr : &tile.taps.back();
    if (before && before->tap + before->count == tap && before->first == taps.first && before->last == taps.last)
      ++before->count;
    else
      tile.taps.push_back(taps);
  }
  return tile;
}

std::vector<TileSegment> cover_axis(const ConvAxis& axis, int64_t positions) {
  std::vector<TileSegment> segments;
  const int64_t tiles = (axis.out + positions - 1) / positions;
  int64_t first = 0;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t size = axis.out / tiles + (t < axis.out % tiles ? 1 : 0);
    TileAxis tile = tile_at(axis, first, size);
    if (!segments.empty() && segments.back().tile == tile)
      ++segments.back().tiles;
    else
      segments.push_back({t, 1, first, std::move(tile)});
    first += size;
  }
  return segments;
}

RunCover cover_run(int64_t largest_tile, int64_t vectors) {
  constexpr int64_t latency = 6, overhead = 2;  // in units of the multiply-adds of a k step
  constexpr int64_t most = (1 << RunCover::count_bits) - 1;
  GCG_CHECK(largest_tile >= 1 && 2 * largest_tile * RunCover::count_bits <= 64, "tiles of ", largest_tile, " pixels");
  RunCover cover{{largest_tile}, {}};
  for (int64_t size : {2 * largest_tile / 3, largest_tile / 2, largest_tile > 8 ? largest_tile / 3 : 1, int64_t{1}})
    if (size >= 1 && size < cover.sizes.back()) cover.sizes.push_back(size);
  cover.counts.resize(cover.sizes.size());
  struct Best {
    int64_t cost = 0;
    std::vector<int64_t> counts;
  };
  std::vector<Best> best{{0, std::vector<int64_t>(cover.sizes.size())}};
  for (int64_t pixels = 1; pixels < 2 * largest_tile; ++pixels) {
    Best found{std::numeric_limits<int64_t>::max(), {}};
    for (size_t i = 0; i < cover.sizes.size(); ++i) {
      const int64_t size = cover.sizes[i], cost = std::max(size * vectors, latency) + overhead;
      if (size > pixels) continue;
      const Best& remaining = best[static_cast<size_t>(pixels - size)];
      if (remaining.counts[i] == most || remaining.cost + cost >= found.cost) continue;
      found = {remaining.cost + cost, remaining.counts};
      ++found.counts[i];
    }
    for (size_t i = 0; i < cover.sizes.size(); ++i)
      cover.counts[i] |= static_cast<uint64_t>(found.counts.at(i)) << (RunCover::count_bits * pixels);
    best.push_back(std::move(found));
  }
  return cover;
}

bool is_pointwise(const ConvKernel& k) {
  return k.kernel_h == 1 && k.kernel_w == 1 && k.stride_h == 1 && k.stride_w == 1 && k.pad_top == 0 &&
         k.pad_left == 0 && k.in_height == k.out_height && k.in_width == k.out_width;
}

bool fills_tiles(const ConvKernel& kernel) {
  const Dim pixels = kernel.out_height * kernel.out_width;
  const bool few = pixels.is_constant() && pixels.constant() < TileKernel::least_rows;
  if (kernel.groups != 1 || kernel.d.id >= 0 || kernel.input_plain || few) return false;
  if (!kernel.bytes) return true;
  // Cycles of a pixel. Vectors do two products a cycle. Tiles also lay out data, 16 bytes at a time, and pass the sums
  // through memory once more. On a Granite Rapids, 24 of 26 convolutions of MobileNetV2 and ResNet-50 are decided
  // correctly.
  const double outputs = static_cast<double>(blocks_of(kernel.out_channels, block));
  const double pieces = static_cast<double>(kernel.packing().units() * kernel.taps());
  const double words = static_cast<double>(blocks_of(kernel.packing().inputs, kVnniGroup) * kernel.taps());
  const double by_vectors = words * outputs / 2, steps = std::ceil(pieces / 4);
  const bool in_lines = kernel.taps() == 1 ? kernel.stride_h == 1 && kernel.stride_w == 1 && kernel.pad_left == 0
                                           : kernel.kernel_w > 1 && kernel.dilation_w == 1;
  return steps * outputs * 1.3 + pieces * (in_lines ? 2.5 : 5) + outputs * 3 < by_vectors;
}

ConvPlan plan_conv(const ConvKernel& k, const CpuTarget& target, bool flat_allowed, DType weights) {
  ConvPlan plan;
  if (!k.bytes) plan.word_bytes = size_of(weights);
  plan.multiply = multiply_of(target, k.bytes ? DType::u8 : DType::f32, k.narrow && !k.packing().by_lane());
  plan_widening(k, target, weights, plan);
  plan.lanes = target.lanes(DType::f32);
  GCG_CHECK(block % plan.lanes == 0, "vectors of ", plan.lanes, " lanes");
  const int64_t blocks = (k.out_channels + block - 1) / block;
  const int64_t block_vectors = block / plan.lanes;
  const bool by_lane = k.packing().by_lane();
  // Puts three vectors in one group. A group with only the third vector would load more than it multiplies.
  const bool one_and_a_half = block_vectors == 2 && blocks == 2 && k.out_channels <= block + plan.lanes && !by_lane &&
                              k.packing().groups == 1 && plan.multiply == Multiply::floats;
  plan.group_blocks = (block_vectors > 1 && !one_and_a_half) || blocks == 1 ? 1 : k.packing().columns() / block;
  plan.groups = (blocks + plan.group_blocks - 1) / plan.group_blocks;
  plan.vectors = by_lane ? 1 : plan.group_blocks * block_vectors;
  const int64_t last_channels = k.out_channels - (plan.groups - 1) * plan.group_blocks * block;
  plan.last_vectors = by_lane ? 1 : (last_channels + plan.lanes - 1) / plan.lanes;
  if (plan.groups == 1) plan.vectors = plan.last_vectors;
  if (plan.widens()) plan.widened_panel = k.packing().units() * k.taps() * (block / 2) * plan.vectors * plan.lanes;
  plan.tile_pixels = k.depthwise() ? depthwise_pixels(target, k.kernel_w)
                     : by_lane     ? by_lane_pixels(target)
                                   : dense_pixels(target, plan.vectors, plan.multiply);
  plan.taps_together = depthwise_taps(target, k.kernel_w);
  plan.flat = flat_allowed && !k.depthwise() && !k.input_plain && is_pointwise(k);
  plan.rows = plan.flat ? Dim(1) : k.out_height;
  plan.row_pixels = plan.flat ? k.out_height * k.out_width : k.out_width;
  plan_tiles(k, plan);
  plan.may_become_flat =
      flat_allowed && plan.symbolic_row() && !plan.flat && !by_lane && !k.input_plain && is_atrous(k);
  plan_passes(k, target, plan);
  plan_order(k, plan);
  plan_tasks(k, plan);
  if (!by_lane)
    plan.regions_together = plan.regions_together ? regions_near(k, target, plan) : regions_in_l2(k, target, plan);
  if (!by_lane && plan.prefetch_lines > 0 && !plan.symbolic_row() && plan.regions_together) {
    const Dim of_image = regions_of_image(k, plan);  // a symbolic batch may be 1
    const int64_t together = std::min(*plan.regions_together, of_image.upper_bound().value_or(*plan.regions_together));
    plan_prefetch(k, plan, together * tiles_of_region(plan));
  }
  return plan;
}

}  // namespace gcg::cpu
