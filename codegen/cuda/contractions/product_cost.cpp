// T = max(bytes / bandwidth, waves * (fill + steps * step + end)) (+ the second launch that adds splits).
#include "codegen/cuda/contractions/product_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "compiler/kernel/typical_extent.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

constexpr double kFillClocks = 1500;    // from the launch to the first operands in shared memory
constexpr double kEndClocks = 800;      // epilogue
constexpr double kLatencyClocks = 700;  // of a copy from memory to shared memory
constexpr double kBarrierClocks = 60;   // of a step
// Producer warps and TMA: no barrier of the block and no copies to issue in a step, which shows where no other block
// fills the gap; before the first step, barriers to make and maps to fetch.
constexpr double kTmaStepClocks = 20, kTmaFillClocks = 500;
constexpr double kElementInstructions = 8;  // of a copy of one element: its place, bounds, load and store
constexpr int kMostSplits = 32;

/// Tiles by shape, with registers that leave room for `blocks` on one multiprocessor (as assembled, without spills).
struct Shape {
  int rows, columns, warp_rows, warp_columns, rows_each, columns_each, blocks;
};
constexpr std::array kScalar = {
    Shape{128, 128, 4, 2, 8, 8, 1}, Shape{128, 64, 4, 1, 8, 8, 2}, Shape{64, 128, 2, 2, 8, 8, 2},
    Shape{64, 64, 2, 2, 8, 4, 3},   Shape{32, 64, 2, 2, 4, 4, 5},  Shape{64, 32, 4, 1, 4, 4, 5},
    Shape{32, 32, 2, 1, 4, 4, 8},   Shape{16, 64, 1, 2, 4, 4, 8},
};
constexpr std::array kTensor = {
    Shape{128, 128, 2, 4, 4, 4, 1}, Shape{128, 64, 2, 2, 4, 4, 2}, Shape{64, 128, 2, 2, 2, 8, 2},
    Shape{64, 64, 2, 2, 2, 4, 3},   Shape{32, 64, 1, 4, 2, 2, 4},  Shape{64, 32, 2, 2, 2, 2, 4},
    Shape{32, 32, 2, 2, 1, 2, 5},   Shape{16, 64, 1, 4, 1, 2, 5},  Shape{64, 16, 4, 1, 1, 2, 5},
    Shape{16, 128, 1, 4, 1, 4, 4},
};

/// By warpgroups: rows, columns, warpgroups, blocks, producer threads. Of 256 columns not in splits: a split may have
/// no step, and ptxas then moves so many sums that it serialises the products.
struct WideShape {
  int rows, columns, groups, blocks, producers = 0;
};
constexpr std::array kWide = {WideShape{64, 64, 1, 4},   WideShape{64, 128, 1, 3}, WideShape{128, 64, 2, 2},
                              WideShape{128, 128, 2, 2}, WideShape{64, 256, 1, 2}, WideShape{128, 256, 2, 1}};
/// A warp produces where several blocks share a multiprocessor: with a warpgroup they would have fewer registers at
/// their start than a product of 128 columns needs (ptxas: C7602). Where one block has it to itself, a warpgroup may,
/// which gives its registers to the others. 128x128 and 64x256 twice would leave 96 and 168 registers, with which
/// epilogues that read spill.
constexpr std::array kTma = {WideShape{64, 64, 1, 4, 32},  WideShape{64, 128, 1, 3, 32},
                             WideShape{128, 64, 2, 2, 32}, WideShape{128, 128, 2, 1, 128},
                             WideShape{64, 256, 1, 1, 32}, WideShape{128, 256, 2, 1, 128}};
constexpr int kWideDepth = 64;

/// Multiply-adds per clock of one multiprocessor.
double rate(const Machine& gpu, Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::scalar:
      return gpu.scalar_rate * 0.8;  // the rest of the issue slots: loads from shared memory
    case Arithmetic::tf32x3:
      return gpu.half_rate / 6;
    case Arithmetic::tf32:
      return gpu.half_rate / 2;
    default:
      return gpu.half_rate;
  }
}

/// Bytes that a warp's fragments take from shared memory per k: every row and column of its tile.
double shared_bytes_per_depth(const ProductTile& t) {
  if (t.is_wide) return 2.0 * (t.rows + t.columns * t.warp_rows / 4);
  const bool scalar = t.arithmetic == Arithmetic::scalar;
  const double rows = (scalar ? 4 : 16) * t.rows_each, columns = (scalar ? 8 : 8) * t.columns_each;
  return element_bytes(t.arithmetic) * (rows + columns) * t.warp_rows * t.warp_columns;
}

double step_clocks(const Machine& gpu, const ProductTile& t, const ProductForm& form, double residents) {
  const double products =
      double{1} * t.rows * t.columns * t.depth * residents / (t.is_wide ? gpu.warpgroup_rate : rate(gpu, t.arithmetic));
  const double copies =
      element_bytes(t.arithmetic) * double{1} * (t.rows + t.columns) * t.depth * residents / gpu.l2_bytes_per_clock;
  const double fragments = shared_bytes_per_depth(t) * t.depth * residents / 128;
  const double single = (form.left_by_element ? t.rows : 0) + (form.right_by_element ? t.columns : 0);
  const double issues = single * t.depth * kElementInstructions * residents / (32 * 4);  // by four schedulers
  // A stage of a product by warpgroups is read while the next one is, and copied to after that; unless others copy.
  const double latency = kLatencyClocks / (t.stages - (t.is_wide && t.producers == 0 ? 2 : 1));
  return std::max({products, copies, fragments, issues, latency}) +
         (t.producers > 0 && residents <= 1 ? kTmaStepClocks : kBarrierClocks);
}

double ceil_ratio(double a, double b) { return std::ceil(a / b); }

double microseconds(const Machine& gpu, const ProductTile& t, const ProductSize& size, const ProductForm& form,
                    int residents_at_most) {
  const double tiles = ceil_ratio(size.rows, t.rows) * ceil_ratio(size.columns, t.columns) * size.batch;
  const double blocks = std::max(1.0, tiles * t.splits);
  const double residents = std::min<double>(residents_at_most, ceil_ratio(blocks, gpu.processors));
  const double waves = ceil_ratio(blocks, gpu.processors * residents);
  const double steps = ceil_ratio(ceil_ratio(size.depth, t.depth), t.splits);
  const double fill = kFillClocks + (t.producers > 0 ? kTmaFillClocks : 0);
  const double clocks = waves * (fill + steps * step_clocks(gpu, t, form, residents) + kEndClocks);
  const double sums = size.batch * size.rows * size.columns;
  const double bytes = size.batch * (size.rows * size.left_bytes + size.columns * size.right_bytes) * size.depth +
                       size.result_bytes * sums;
  double time = std::max(clocks / gpu.gigahertz * 1e-3, bytes / gpu.bytes_per_second * 1e6);
  // Partial sums stay in the L2 cache, twice as fast as memory.
  if (t.splits > 1) time += kDependentLaunch + 8 * sums * t.splits / (2 * gpu.bytes_per_second) * 1e6;
  return time;
}

/// Can tiles of this depth be copied at all, and in registers that do not spill?
bool takes_depth(const Target& target, Arithmetic arithmetic, const ProductForm& form, int depth) {
  const int64_t whole = form.whole_steps;
  if (!is_half(arithmetic)) return depth == 16 || (depth == 32 && whole % 32 == 0 && !form.divides);
  if (depth == 16) return whole % 32 != 0;  // lines of 32 bytes: only where longer ones would be cut
  if (depth == 64 && (form.is_held || !machine_of(target).has_async_copies)) return false;
  return whole % depth == 0;
}

/// Registers for the divisions that find an element, as assembled.
bool leaves_room(Arithmetic arithmetic, const Shape& s) {
  if (arithmetic == Arithmetic::tf32x3) return s.rows_each * s.columns_each < 16;
  return !is_half(arithmetic) || s.columns_each < 4 || s.rows_each > 1;
}

std::vector<ProductTile> shapes(const Target& target, const ProductForm& form) {
  const Arithmetic arithmetic = arithmetic_of(target);
  std::vector<ProductTile> all;
  const auto add = [&](const Shape& s) {
    if (form.divides && !leaves_room(arithmetic, s)) return;
    for (int depth : {16, 32, 64}) {
      if (!takes_depth(target, arithmetic, form, depth)) continue;
      // Two registers per value: more than a k-step of large fragments at a time spills.
      if (arithmetic == Arithmetic::tf32x3 && s.rows_each * s.columns_each >= 16 && depth > 16) continue;
      ProductTile t{arithmetic, s.rows, s.columns, depth, s.warp_rows, s.warp_columns, s.rows_each, s.columns_each};
      // Without asynchronous copies the next tile is in registers, too.
      t.blocks = machine_of(target).has_async_copies ? s.blocks : std::min(s.blocks, 4);
      if (form.divides || (form.gathers && arithmetic == Arithmetic::tf32x3)) t.blocks -= (t.blocks + 1) / 3;
      // 128 registers hold two k-steps of its fragments, but not the conditions of a depth that ends within a step as
      // well.
      if (arithmetic == Arithmetic::tf32x3 && s.rows == 32 && s.columns == 64 && depth == 32)
        t.blocks = std::min(t.blocks, 3);
      all.push_back(t);
    }
  };
  if (arithmetic == Arithmetic::scalar)
    std::for_each(kScalar.begin(), kScalar.end(), add);
  else
    std::for_each(kTensor.begin(), kTensor.end(), add);
  return all;
}

long long nanoseconds(const ProductTile& t) { return std::llround(t.microseconds * 1000); }

bool is_faster(const ProductTile& a, const ProductTile& b) { return nanoseconds(a) < nanoseconds(b); }

/// Sorted by time, where equal as they came. Tiles of one shape differ little: more than a few of them tell nothing
/// new.
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

/// Tiles for warpgroups, where the target has them.
std::vector<ProductTile> wide_shapes(const Target& target, const ProductForm& form) {
  const Arithmetic arithmetic = arithmetic_of(target);
  std::vector<ProductTile> all;
  if (target.name != "sm_90a" || !is_half(arithmetic) || form.divides || form.whole_steps % kWideDepth != 0) return all;
  const auto add = [&](const WideShape& s) {
    if (form.is_held && s.columns > 128) return;  // registers
    ProductTile t{arithmetic, s.rows, s.columns, kWideDepth, 4 * s.groups, 1, 1, s.columns / 8};
    t.blocks = form.is_held ? 2 / s.groups : s.blocks;
    t.is_wide = true;
    t.producers = s.producers;
    all.push_back(t);
  };
  std::for_each(kWide.begin(), kWide.end(), add);
  if (form.has_tma_views) std::for_each(kTma.begin(), kTma.end(), add);
  return all;
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

int64_t shared_bytes(const ProductTile& t, const ProductForm& form) {
  const int barriers = t.producers > 0 ? 16 * t.stages : 0;
  if (t.is_wide) return int64_t{128} * t.stages * (t.rows + t.columns) + barriers;
  const int element = element_bytes(t.arithmetic);
  const auto elements = [&](int rows, bool along_depth) {
    return along_depth ? rows * (t.depth + 16 / element) : t.depth * (rows + 8);
  };
  return int64_t{element} * t.stages *
         (elements(t.rows, form.left_along_depth) + elements(t.columns, form.right_along_depth));
}

std::vector<ProductTile> product_tiles(const Target& target, const ProductForm& form) {
  const Machine& gpu = machine_of(target);
  const int most_stages = gpu.has_async_copies ? 5 : 2;
  std::vector<ProductTile> tiles;
  for (ProductTile t : shapes(target, form))
    for (t.stages = 2; t.stages <= most_stages; ++t.stages)
      if (shared_bytes(t, form) <= gpu.shared_block_bytes) tiles.push_back(t);
  for (ProductTile t : wide_shapes(target, form))
    for (t.stages = 3; t.stages <= 6; ++t.stages)
      if (shared_bytes(t, form) <= gpu.shared_block_bytes) tiles.push_back(t);
  return tiles;
}

std::vector<ProductTile> best_product_tiles(const Target& target, const ProductSize& size, const ProductForm& form,
                                            size_t most) {
  const Machine& gpu = machine_of(target);
  std::vector<ProductTile> all;
  for (ProductTile t : product_tiles(target, form)) {
    const int64_t shared = shared_bytes(t, form) + kReservedShared;
    const auto fit = static_cast<int>(gpu.shared_bytes / shared);
    const int residents = std::max(1, std::min({t.blocks, fit, gpu.threads / t.threads()}));
    const auto steps = static_cast<int>(ceil_ratio(size.depth, t.depth));
    const int most_splits = t.is_wide && t.columns > 128 ? 1 : kMostSplits;  // see kWide
    for (int splits = 1; splits <= std::min(most_splits, steps); splits = splits < 4 ? splits + 1 : splits * 2) {
      t.splits = static_cast<int>(ceil_ratio(steps, ceil_ratio(steps, splits)));  // every split has work
      t.microseconds = microseconds(gpu, t, size, form, residents);
      all.push_back(t);
    }
  }
  GCG_CHECK(!all.empty(), "no tile fits a multiprocessor of ", gpu.name);
  // What producer warps are worth, the model knows least of: tuning always hears of some such tiles.
  constexpr size_t kTmaCandidates = 4;
  const auto fed = std::stable_partition(all.begin(), all.end(), [](const ProductTile& t) { return t.producers == 0; });
  std::vector<ProductTile> best = best_of_each_shape({fed, all.end()}, std::min(kTmaCandidates, most / 2));
  all.erase(fed, all.end());
  const std::vector<ProductTile> others = best_of_each_shape(std::move(all), most - best.size());
  best.insert(best.begin(), others.begin(), others.end());
  std::stable_sort(best.begin(), best.end(), is_faster);
  return best;
}

std::string describe(const ProductTile& t) {
  if (t.is_cluster)
    return concat(t.rows, "x", t.columns, "x", t.depth, " ", name_of(t.arithmetic), " wgmma, cluster of ", t.splits,
                  ", ", t.stages, " stages", t.is_swapped ? ", swapped" : "");
  std::string text = concat(t.rows, "x", t.columns, "x", t.depth, " ", name_of(t.arithmetic), t.is_wide ? " wgmma" : "",
                            t.producers > 0 ? ", TMA, " : ", ", t.stages, " stages");
  return t.splits > 1 ? text + concat(", ", t.splits, " splits") : text;
}

}  // namespace gcg::cuda
