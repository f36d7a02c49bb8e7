#include "codegen/cuda/contractions/attention_wide.h"

#include <algorithm>
#include <cmath>

#include "codegen/cuda/contractions/attention_scores.h"
#include "compiler/kernel/machine.h"
#include "compiler/kernel/typical_extent.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

constexpr int64_t kLargestHead = 256, kElements = 8;  // elements of 16 bytes
// Queries per head; with fewer, heads that share keys also share a tile.
constexpr double kFewestQueries = 33;

bool is_head(const Dim& extent) {
  return extent.is_constant() && extent.constant() % kElements == 0 && extent.constant() <= kLargestHead;
}

/// An operand as a tensor whose lines belong to one head (queries or keys). `at`: the position at which "row" begins.
std::optional<Product::TmaView> view_of(const Kernel& kernel, const AttentionKernel& k, const MatrixView& view,
                                        const Axis& rows, Dim row_stride, const Axis& columns,
                                        const Dim& column_stride) {
  const Operand& operand = kernel.operands[static_cast<size_t>(view.operand)];
  if (size_of(operand.dtype) != 2 || !column_stride.is(1)) return std::nullopt;
  if (rows.extent.is(1) && row_stride.is(0)) row_stride = columns.extent;
  Product::TmaView out{view.operand, operand.dtype, view.offset, {}};
  out.dimensions.push_back({columns.extent, column_stride, "column", 'd'});
  out.dimensions.push_back({rows.extent, row_stride, "row", 'r'});
  for (size_t b = 0; b < k.batch.size(); ++b)
    if (!view.batch_strides[b].is(0))
      out.dimensions.push_back({k.batch[b].extent, view.batch_strides[b], concat("(int)a", k.batch[b].id), 'b'});
  auto tensor = as_tma_view(std::move(out));
  return tensor && tensor->dimensions[0].kind == 'd' ? tensor : std::nullopt;
}

/// True if one tile of a warpgroup covers all queries.
bool has_few_queries(const AttentionKernel& k) { return k.m.extent.is_constant() && k.m.extent.constant() <= 64; }

double heads_of(const AttentionKernel& k) {
  double heads = 1;
  for (const Axis& a : k.batch) heads *= typical(a.extent);
  return heads;
}

/// Expected time. Blocks iterate over their tiles, and tiles over their blocks of keys.
double clocks(const Machine& gpu, const AttentionKernel& k, const AttentionScores& scores, const WideAttentionTile& t) {
  constexpr double kEachTile = 3500, kRate = 0.65, kIssue = 3.3;  // clocks per key of a warpgroup
  constexpr double kCombine = 1500;
  const double tiles = std::ceil(typical(k.m.extent) / t.queries());
  const double keys = typical_keys(k);
  const double waves = std::ceil(tiles * t.splits * heads_of(k) / gpu.processors);
  const double seen = scores.seen.lasts.empty() ? 1 : 0.5 + 0.5 / tiles;
  const double steps = std::ceil(std::ceil(seen * keys / t.keys) / t.splits);
  const double products = 64.0 * t.groups * t.keys * static_cast<double>(k.d.extent.constant() + k.n.extent.constant());
  const double issue = kIssue * t.groups * t.keys * (scores.scale ? 1 : 1.5);
  const double step = std::max(products / gpu.warpgroup_rate, issue) / kRate;
  const double bytes = 2.0 * t.keys * static_cast<double>(k.d.extent.constant() + k.n.extent.constant());
  const double copies = bytes / gpu.l2_bytes_per_clock;
  return waves * (kEachTile + (t.splits > 1 ? kCombine : 0) + steps * std::max(step, copies));
}

/// The kernel with separate heads that share keys, if each head has many queries.
Kernel with_heads_apart(const Kernel& kernel) {
  Kernel out = kernel;
  out.body = split_heads(std::get<AttentionKernel>(kernel.body), kFewestQueries);
  return out;
}

}  // namespace

std::optional<AttentionViews> attention_views(const Kernel& kernel) {
  const auto& k = std::get<AttentionKernel>(kernel.body);
  const auto q = view_of(kernel, k, k.q, k.m, k.q.row_stride, k.d, k.q.column_stride);
  const auto key = view_of(kernel, k, k.k, k.t, k.k.column_stride, k.d, k.k.row_stride);
  const auto v = view_of(kernel, k, k.v, k.t, k.v.row_stride, k.n, k.v.column_stride);
  return q && key && v ? std::optional(AttentionViews{*q, *key, *v}) : std::nullopt;
}

double typical_keys(const AttentionKernel& k) {
  // Assumed number of keys for few queries, because few new queries usually follow a longer context.
  constexpr int64_t kOfFewQueries = 1024;
  return has_few_queries(k) ? typical(k.t.extent, kOfFewQueries) : typical(k.t.extent);
}

std::vector<WideAttentionTile> wide_attention_tiles(const Kernel& kernel, const Target& target) {
  std::vector<WideAttentionTile> tiles;
  const Machine& gpu = machine_of(target);
  const Arithmetic arithmetic = arithmetic_of(target);
  if (gpu.warpgroup_rate == 0 || !is_half(arithmetic)) return tiles;
  const Kernel apart = with_heads_apart(kernel);
  const auto& k = std::get<AttentionKernel>(apart.body);
  if (!is_head(k.d.extent) || !is_head(k.n.extent)) return tiles;
  const auto views = attention_views(apart);
  if (!views) return tiles;
  for (const Product::TmaView* v : {&views->q, &views->k, &views->v})
    if (name_of(v->stored) != name_of(arithmetic)) return tiles;
  const AttentionScores scores = scores_of(k);
  const int64_t columns = k.n.extent.constant(), keys = columns <= 128 ? 128 : columns <= 192 ? 96 : 64;
  const bool is_one_tile = has_few_queries(k);
  const auto add = [&](int groups, bool takes_turns, int splits) {
    WideAttentionTile t{groups, static_cast<int>(keys), takes_turns, splits, 0};
    if (wide_attention_shared_bytes(k, t) > gpu.shared_block_bytes) return;
    t.clocks = clocks(gpu, k, scores, t);
    tiles.push_back(t);
  };
  add(1, false, 1);
  for (const int splits : {2, 4, 8})
    if (is_one_tile) add(1, false, splits);
  for (const int groups : {2, 3})
    for (const bool takes_turns : {true, false})
      if (!is_one_tile && (groups == 2 || (columns <= 64 && scores.scale))) add(groups, takes_turns, 1);
  std::stable_sort(tiles.begin(), tiles.end(),
                   [](const WideAttentionTile& a, const WideAttentionTile& b) { return a.clocks < b.clocks; });
  return tiles;
}

std::string describe(const WideAttentionTile& t) {
  return concat(t.queries(), " queries, ", t.keys, " keys a step, wgmma, TMA", t.takes_turns ? ", in turns" : "",
                t.splits > 1 ? concat(", ", t.splits, " blocks of a cluster") : "");
}

KernelText emit_wide_attention(const Kernel& kernel, const Target& target, const WideAttentionTile& tile) {
  const Kernel apart = with_heads_apart(kernel);
  return wide_attention_text(apart, target, tile);
}

}  // namespace gcg::cuda
