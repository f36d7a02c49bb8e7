// T = max(bytes / bandwidth, waves * (fill + steps * step + end)) (+ the second launch of split-K). A step takes the
// largest of: products, copies from the L2 cache, instructions, and copy latency / tiles copied ahead.
#include "codegen/cuda/contractions/product_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

constexpr double kLaunch = 1.1;           // us, without the fill of the first wave
constexpr double kFillClocks = 1500;      // from the start of a block to the first operands in shared memory
constexpr double kScalarEndClocks = 800;  // epilogue of a tile whose products are not by tensor cores
// Epilogue of other tiles without a tile loop, where threads store results: clocks per tile, results per clock, and the
// latency of a tensor that the epilogue reads. Warpgroups wait for this latency once per 8 columns. Measured with
// residuals of ResNet-50 on an H200.
constexpr double kTileEndClocks = 300, kScatteredPerClock = 8, kReadClocks = 430;
constexpr double kPartialPerClock = 4;      // the same rate for the sums of a split product
constexpr double kLatencyClocks = 700;      // latency of a copy from memory to shared memory, without its transfer
constexpr double kBarrierClocks = 60;       // of a step
constexpr double kElementInstructions = 8;  // instructions per copied element: address, bounds, load and store
// Instructions per 16-byte copy, for a matrix and for gathered lines. Measured with 128x128x64 and 128x256x64 by
// cp.async on an H200.
constexpr double kChunkInstructions = 19, kGatheredInstructions = 78;
constexpr double kWarpsAtHalfRate = 4;  // warps per multiprocessor with which mma.sync waits half of the time
constexpr double kSchedulers = 4;       // schedulers per multiprocessor; each issues one warp instruction per clock
constexpr int kMostSplits = 32;
constexpr double kWideProductClocks = 1.19;  // clocks that products of warpgroups take, per clock at their peak rate

// The loop of device/gart_tile_loop.cuh. Measured on an H200 with tiles of 64x64 to 128x256 in products of 1024 to 8192
// a side, and with convolutions of 7x7 to 56x56 pixels.
namespace tile_loop {
constexpr double kStart = 1.9;            // microseconds: the launch, barriers, the first boxes, the last store
constexpr double kClock = 0.956;          // fraction of the GPU's clock rate that remains at full power
constexpr double kStepClocks = 150;       // clocks of a step without its products, if these are few
constexpr double kBoxBytesPerClock = 60;  // if several blocks request the same boxes at once
// The same costs for windows, which are copied with one line per pixel. Blocks hardly ever request the same line at
// once.
constexpr double kWindowBytesPerClock = 35, kWindowStepClocks = 420, kWindowLineClocks = 3;
constexpr double kF32StepClocks = 890, kF32ProductClocks = 0.66;  // the low parts of factors are computed in parallel
constexpr double kLoopEndClocks = 300;                            // end of a tile, without the costs below
constexpr double kSumsPerClock = 40;                              // sums that are rounded and written to staging memory
constexpr double kStoredBytesPerClock = 64;
constexpr double kOperationsPerClock = 90;  // of the epilogue
constexpr double kBoxLatencyClocks = 900;   // latency of the epilogue's input boxes, if they were not copied ahead
}  // namespace tile_loop

/// Multiply-adds per clock of one multiprocessor.
double rate(const Machine& gpu, Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::scalar:
      return gpu.scalar_rate * 0.8;  // the other issue slots are used by loads from shared memory
    case Arithmetic::tf32x3:
      return gpu.half_rate / 6;
    case Arithmetic::tf32:
      return gpu.half_rate / 2;
    default:
      return gpu.half_rate;
  }
}

/// Shared memory bytes per k that a warp's fragments read: every row and column of its tile.
double shared_bytes_per_depth(const ProductTile& t) {
  if (t.is_wide()) return 2.0 * (t.rows + t.columns * t.warp_rows / 4);
  const bool scalar = t.arithmetic == Arithmetic::scalar;
  const double rows = (scalar ? 4 : 16) * t.rows_each, columns = (scalar ? 8 : 8) * t.columns_each;
  return element_bytes(t.arithmetic) * (rows + columns) * t.warp_rows * t.warp_columns;
}

/// Instructions of a block's warps per step: copies by element or by 16 bytes, fragments and products.
double instructions(const ProductTile& t, const TileConstraints& constraints) {
  const double single = (constraints.left_by_element ? t.rows : 0) + (constraints.right_by_element ? t.columns : 0);
  const double chunks = (t.rows + t.columns - single) * element_bytes(t.arithmetic) * t.depth / 16;
  const double copies = (single * t.depth * kElementInstructions +
                         chunks * (constraints.gathers ? kGatheredInstructions : kChunkInstructions)) /
                        kWarpThreads;
  if (t.is_wide() || t.arithmetic == Arithmetic::scalar)
    return copies;  // products take few instructions, or their own rate limits them
  const double products = double{1} * t.rows * t.columns * t.depth / (16 * 8 * 16 / (element_bytes(t.arithmetic) / 2));
  return copies + products * (t.arithmetic == Arithmetic::tf32x3 ? 3 : 1) * 1.25;  // including the loads of fragments
}

/// Bytes per clock from the L2 cache to one multiprocessor while `active` multiprocessors are busy.
double l2_rate(const Machine& gpu, double active) {
  return std::min(gpu.l2_alone,
                  gpu.l2_bytes_per_clock * gpu.processors / std::clamp<double>(active, 1, gpu.processors));
}

double step_clocks(const Machine& gpu, const ProductTile& t, const ProductSize& size,
                   const TileConstraints& constraints, double residents, double active) {
  const double warps = t.threads() / kWarpThreads * residents;
  const double reached = t.is_wide()                          ? 1 / kWideProductClocks
                         : t.arithmetic == Arithmetic::scalar ? 1
                                                              : warps / (warps + kWarpsAtHalfRate);
  const double products = double{1} * t.rows * t.columns * t.depth * residents /
                          (reached * (t.is_wide() ? gpu.warpgroup_rate : rate(gpu, t.arithmetic)));
  const double transfer = (t.rows * size.left_bytes + t.columns * size.right_bytes) * t.depth / l2_rate(gpu, active);
  const double fragments = shared_bytes_per_depth(t) * t.depth * residents / 128;
  const double issue = instructions(t, constraints) / kSchedulers;
  // The products of a stage and of the next one overlap, so a stage is overwritten only after both.
  const double latency = (issue + kLatencyClocks + transfer) / (t.stages - traits_of(t.mma).held_stages);
  return std::max({products, transfer * residents, fragments, issue * residents, latency}) + kBarrierClocks;
}

double ceil_ratio(double a, double b) { return std::ceil(a / b); }

double tiles_of(const ProductTile& t, const ProductSize& size) {
  return ceil_ratio(size.rows, t.rows) * ceil_ratio(size.columns, t.columns) * size.batch;
}

double steps_of(const ProductTile& t, const ProductSize& size) {
  const double depth = t.has_boxes() ? std::max(size.depth, size.box_depth) : size.depth;
  return ceil_ratio(ceil_ratio(depth, t.depth), t.splits);
}

/// Time to move every byte between memory and the chip once.
double memory_microseconds(const Machine& gpu, const ProductSize& size) {
  const double bytes = (size.rows * size.left_bytes + size.columns * size.right_bytes) * size.depth +
                       size.rows * size.columns * size.result_bytes;
  return size.batch * bytes / gpu.bytes_per_second * 1e6;
}

/// Time of two overlapping activities: the longer one, slightly delayed by the shorter one.
double together(double a, double b) { return std::max(a, b) + 0.15 * std::min(a, b); }

/// Time of the second launch, which adds partial sums. They stay in the L2 cache, which is twice as fast as memory.
double sum_microseconds(const Machine& gpu, const ProductTile& t, const ProductSize& size) {
  if (t.splits == 1) return 0;
  return kDependentLaunch + 8 * size.batch * size.rows * size.columns * t.splits / (2 * gpu.bytes_per_second) * 1e6;
}

/// Time to store a tile's results, or sums of a split, by threads.
double scattered_clocks(const ProductTile& t) {
  return double{1} * t.rows * t.columns / (t.splits == 1 ? kScatteredPerClock : kPartialPerClock);
}

double loop_microseconds(const Machine& gpu, const ProductTile& t, const ProductSize& size,
                         const TileConstraints& constraints) {
  using namespace tile_loop;
  const double peak = double{1} * t.rows * t.columns * t.depth / gpu.warpgroup_rate;
  const double bytes = element_bytes(t.arithmetic) * double{1} * (t.rows + t.columns) * t.depth;
  double step = std::max({peak * kWideProductClocks, peak + kStepClocks,
                          bytes / (constraints.has_windows ? kWindowBytesPerClock : kBoxBytesPerClock)});
  if (t.arithmetic == Arithmetic::tf32x3)  // three products for each pair of factors, at half the rate
    step = kF32StepClocks + 6 * peak * kF32ProductClocks;
  if (constraints.has_windows)
    step = std::max(step, kWindowStepClocks + kWindowLineClocks * (constraints.left_has_windows ? t.rows : t.columns));
  const double sums = double{1} * t.rows * t.columns;
  double end = kLoopEndClocks + sums / kSumsPerClock + sums * constraints.epilogue_operations / kOperationsPerClock;
  // Sums of f32 splits take about as long as boxes of results (BERT-base b8: 3.18 ms, 3.43 ms with scattered_clocks).
  if (constraints.box_bytes > 0 && (t.splits == 1 || t.arithmetic == Arithmetic::tf32x3))
    end += sums * constraints.box_bytes * (constraints.reads_boxes ? 2 : 1) / kStoredBytesPerClock;
  else
    end += scattered_clocks(t);
  if (reads_boxes(t, constraints) && box_sets(t, constraints) == 1) end += kBoxLatencyClocks;
  const double waves = ceil_ratio(tiles_of(t, size) * t.splits, gpu.processors);
  const double clocks = waves * (steps_of(t, size) * step + end);
  return kStart + together(clocks / (gpu.gigahertz * kClock) * 1e-3, memory_microseconds(gpu, size)) +
         sum_microseconds(gpu, t, size);
}

double end_clocks(const ProductTile& t, const TileConstraints& constraints, double residents) {
  if (t.arithmetic == Arithmetic::scalar) return kScalarEndClocks;
  const bool reads = constraints.reads_boxes && t.splits == 1;
  const double latency = reads ? kReadClocks * (t.is_wide() ? t.columns / 8 : 1) : 0;
  return kTileEndClocks + scattered_clocks(t) * residents + latency;
}

double microseconds(const Machine& gpu, const ProductTile& t, const ProductSize& size,
                    const TileConstraints& constraints, int residents_at_most) {
  if (t.has_boxes()) return loop_microseconds(gpu, t, size, constraints);
  const double blocks = std::max(1.0, tiles_of(t, size) * t.splits);
  const double residents = std::min<double>(residents_at_most, ceil_ratio(blocks, gpu.processors));
  const double waves = ceil_ratio(blocks, gpu.processors * residents);
  const double step = step_clocks(gpu, t, size, constraints, residents, blocks);
  const double clocks = waves * (kFillClocks + steps_of(t, size) * step + end_clocks(t, constraints, residents));
  return kLaunch + together(clocks / gpu.gigahertz * 1e-3, memory_microseconds(gpu, size)) +
         sum_microseconds(gpu, t, size);
}

long long nanoseconds(const ProductTile& t) { return std::llround(t.microseconds * 1000); }

bool is_faster(const ProductTile& a, const ProductTile& b) { return nanoseconds(a) < nanoseconds(b); }

/// Sorted by time; ties keep their order. Keeps only a few tiles of each shape, because they differ little.
std::vector<ProductTile> best_of_each_shape(std::vector<ProductTile> tiles, size_t most) {
  constexpr int kOfEachShape = 3;
  std::stable_sort(tiles.begin(), tiles.end(), is_faster);
  std::vector<ProductTile> best;
  std::map<std::array<int, 3>, int> taken;
  std::set<std::string> seen;
  for (const ProductTile& t : tiles) {
    if (best.size() == most) break;
    int& of_shape = taken[{t.rows, t.columns, t.depth}];
    if (of_shape == kOfEachShape || !seen.insert(describe(t)).second) continue;
    ++of_shape;
    best.push_back(t);
  }
  return best;
}

}  // namespace

const char* name_of(Arithmetic arithmetic) {
  static constexpr std::array names = {"f32", "3xtf32", "tf32", "f16", "bf16"};
  return names[static_cast<size_t>(arithmetic)];
}

Arithmetic arithmetic_of(const Target& target) {
  const Machine& gpu = machine_of(target);
  const bool has_tf32 = gpu.has_async_copies;
  switch (target.precision) {
    case Precision::fp16:
      return Arithmetic::f16;
    case Precision::bf16:
      return has_tf32 ? Arithmetic::bf16 : Arithmetic::scalar;
    case Precision::tf32:
      return has_tf32 ? Arithmetic::tf32 : Arithmetic::scalar;
    default:
      break;
  }
  const bool faster = rate(gpu, Arithmetic::tf32x3) > rate(gpu, Arithmetic::scalar);
  return has_tf32 && faster ? Arithmetic::tf32x3 : Arithmetic::scalar;
}

const MmaTraits& traits_of(Mma mma) {
  static constexpr MmaTraits kRows[] = {
      {.note = "", .header = "gart_product.cuh"},
      {.note = "", .header = "gart_product.cuh"},
      {.note = " wgmma", .header = "gart_warpgroup.cuh", .is_wide = true, .held_stages = 2},
      {.note = " wgmma", .header = "gart_warpgroup.cuh", .is_wide = true, .has_boxes = true, .held_stages = 2},
      {.note = " wgmma", .header = "gart_warpgroup.cuh", .is_wide = true, .has_boxes = true, .held_stages = 2},
  };
  return kRows[static_cast<size_t>(mma)];
}

std::vector<ProductTile> best_product_tiles(const Target& target, const ProductSize& size,
                                            const TileConstraints& constraints, size_t most) {
  const Machine& gpu = machine_of(target);
  std::vector<ProductTile> all;
  for (ProductTile t : product_tiles(target, constraints)) {
    const int64_t shared = shared_bytes(t, constraints) + kReservedShared;
    const auto fit = static_cast<int>(gpu.shared_bytes / shared);
    const int residents = std::max(1, std::min({t.blocks, fit, gpu.threads / t.threads()}));
    const auto steps = static_cast<int>(ceil_ratio(size.depth, t.depth));
    const int most_splits = t.is_wide() && t.columns > 128 ? 1 : kMostSplits;  // see kWide of product_tiles.cpp
    for (int splits = 1; splits <= std::min(most_splits, steps); splits = splits < 4 ? splits + 1 : splits * 2) {
      t.splits = static_cast<int>(ceil_ratio(steps, ceil_ratio(steps, splits)));  // so that every split has work
      t.microseconds = microseconds(gpu, t, size, constraints, residents);
      all.push_back(t);
    }
  }
  GCG_CHECK(!all.empty(), "no tile fits a multiprocessor of ", gpu.name);
  // The model compares different kinds of loops less exactly than loops of one kind, so tuning always includes both.
  constexpr size_t kTmaCandidates = 6;
  const auto fed = std::stable_partition(all.begin(), all.end(), [](const ProductTile& t) { return !t.has_boxes(); });
  std::vector<ProductTile> best = best_of_each_shape({fed, all.end()}, std::min(kTmaCandidates, most / 2));
  all.erase(fed, all.end());
  const std::vector<ProductTile> others = best_of_each_shape(std::move(all), most - best.size());
  best.insert(best.begin(), others.begin(), others.end());
  std::stable_sort(best.begin(), best.end(), is_faster);
  return best;
}

std::string describe(const ProductTile& t) {
  if (t.mma == Mma::wgmma_cluster)
    return concat(t.rows, "x", t.columns, "x", t.depth, " ", name_of(t.arithmetic), traits_of(t.mma).note,
                  ", cluster of ", t.splits, ", ", t.stages, " stages", t.is_swapped ? ", swapped" : "");
  std::string text = concat(t.rows, "x", t.columns, "x", t.depth, " ", name_of(t.arithmetic), traits_of(t.mma).note,
                            t.has_boxes() ? ", TMA, " : ", ", t.stages, " stages");
  return t.splits > 1 ? text + concat(", ", t.splits, " splits") : text;
}

}  // namespace gcg::cuda
