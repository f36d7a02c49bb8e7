// Attention in one kernel: each block takes some queries of one head and iterates over the keys with an online softmax.
// This variant runs on every GPU; attention_wide.cpp has the variant for warpgroups.
#include <algorithm>
#include <array>
#include <cmath>

#include "codegen/cuda/contractions/attention_wide.h"
#include "codegen/cuda/contractions/choice.h"
#include "codegen/cuda/contractions/epilogue_text.h"
#include "codegen/cuda/text/vector_access.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/kernel/machine.h"
#include "compiler/kernel/typical_extent.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

/// Tile of a block: 16 queries per warp; groups of warps share the keys.
struct AttentionTile {
  int query_warps = 4, key_groups = 1, key_tiles = 4;  // key_tiles: tiles of 8 keys in one step of a group
  // head: number of elements that a score sums over; columns: number of tiles of 8 columns in a value.
  int head = 64, columns = 8;
  Arithmetic arithmetic = Arithmetic::scalar;
  double clocks = 0;  // expected
  int queries() const { return 16 * query_warps; }
  int keys() const { return 8 * key_tiles * key_groups; }  // keys of a step
  int threads() const { return kWarpThreads * query_warps * key_groups; }
  /// Must match the layout of device/gart_attention.cuh.
  int64_t shared_bytes() const {
    const int64_t element = element_bytes(arithmetic), line = head + 16 / element;
    const int64_t stage = keys() * line + int64_t{1} * keys() * (8 * columns + 8);
    const int64_t combined = int64_t{32} * (key_groups - 1) * query_warps * (4 * columns + 4);
    return std::max(element * (queries() * line + 2 * stage), 4 * combined);
  }
};

int power_of_two(const Dim& extent) {
  int n = 16;
  while (n < extent.constant()) n *= 2;
  return n;
}

/// Expected clocks of the whole kernel. Each step has a latency, which only more blocks or more key groups can hide.
double clocks(const Machine& gpu, Arithmetic arithmetic, const AttentionTile& t, double heads, double queries,
              double keys) {
  constexpr double kStart = 3000, kLatency = 800, kEachStep = 300;
  const double blocks = heads * std::ceil(queries / t.queries());
  const int shared_fit = static_cast<int>(gpu.shared_bytes / (t.shared_bytes() + kReservedShared));
  const int residents =
      std::max(1, std::min({shared_fit, 512 / t.threads(), static_cast<int>(std::ceil(blocks / gpu.processors))}));
  const double waves = std::ceil(blocks / (gpu.processors * residents));
  const double products = 16.0 * t.query_warps * t.keys() * (t.head + 8 * t.columns) * residents;
  const double rate = arithmetic == Arithmetic::scalar   ? gpu.scalar_rate * 0.4
                      : arithmetic == Arithmetic::tf32x3 ? gpu.half_rate / 8
                      : arithmetic == Arithmetic::tf32   ? gpu.half_rate / 3
                                                         : gpu.half_rate / 2;
  const double copies =
      element_bytes(arithmetic) * double{1} * t.keys() * (t.head + 8 * t.columns) * residents / gpu.l2_bytes_per_clock;
  return waves * (kStart + std::ceil(keys / t.keys()) * (kEachStep + std::max({kLatency, products / rate, copies})));
}

std::string describe(const AttentionTile& t) {
  return concat(t.queries(), " queries, ", t.keys(), " keys a step in ", t.key_groups, " groups");
}

/// All tiles that fit the GPU, sorted by the cost model's time for `keys` keys.
std::vector<AttentionTile> tiles_of(const Target& target, const AttentionKernel& k, double keys) {
  const Machine& gpu = machine_of(target);
  const Arithmetic arithmetic = arithmetic_of(target);
  double heads = 1;
  for (const Axis& a : k.batch) heads *= typical(a.extent);
  std::vector<AttentionTile> tiles;
  for (const auto& [query_warps, key_groups] :
       {std::pair(4, 1), std::pair(2, 2), std::pair(1, 4), std::pair(1, 8), std::pair(8, 1)})
    for (int key_tiles : {4, 2, 1}) {
      if (key_tiles == 1 && is_half(arithmetic)) continue;  // 16-bit keys are loaded in groups of 16
      const AttentionTile t{query_warps, key_groups, key_tiles, power_of_two(k.d.extent), power_of_two(k.n.extent) / 8,
                            arithmetic,  0};
      if (t.shared_bytes() > gpu.shared_block_bytes) continue;
      tiles.push_back(t);
      tiles.back().clocks = clocks(gpu, arithmetic, t, heads, typical(k.m.extent), keys);
    }
  std::stable_sort(tiles.begin(), tiles.end(),
                   [](const AttentionTile& a, const AttentionTile& b) { return a.clocks < b.clocks; });
  GCG_CHECK(!tiles.empty(), "no tile of attention fits a multiprocessor of ", gpu.name);
  return tiles;
}

/// "12 of 128 x 384 x 64 x 64, q f32 ...": heads, queries, keys, depths of scores and values.
std::string shape_text(const Kernel& kernel, const AttentionKernel& k) {
  const Dim heads = extent_of(k.batch);
  const auto view = [&](const MatrixView& v) {
    const Dim& along = v.column_stride.is(1) ? v.row_stride : v.column_stride;
    return concat(name_of(kernel.operands[static_cast<size_t>(v.operand)].dtype), " of stride ", along.str());
  };
  return concat(heads.str(), " of ", k.m.extent.str(), " x ", k.t.extent.str(), " x ", k.d.extent.str(), " x ",
                k.n.extent.str(), ", q ", view(k.q), ", k ", view(k.k), ", v ", view(k.v), ", ", kernel.operands.size(),
                " operands");
}

class AttentionText {
 public:
  AttentionText(const Kernel& kernel, const AttentionKernel& attention, const AttentionTile& tile)
      : f_(kernel), k_(attention), arithmetic_(tile.arithmetic), tile_(tile) {
    epilogue_ = {k_.epilogue, k_.result, k_.index, k_.n.id, 1};
    epilogue_.vector = std::min(2, epilogue_vector(kernel, epilogue_, k_.n.extent, k_.n.id));
  }

  KernelText emit() {
    f_.include("gart_attention.cuh");
    const Dim blocks = ceil_div(k_.m.extent, Dim(tile_.queries()));
    const std::string count = int_text(f_, blocks);
    f_.line("const int row0 = blockIdx.x % ", count, " * ", tile_.queries(), ", batch = blockIdx.x / ", count, ";");
    const std::vector<std::string> at = f_.coordinates(k_.batch, {"batch", false});
    for (size_t b = 0; b < at.size(); ++b) batch_.axes[k_.batch[b].id] = at[b];
    declare_operands();
    declare_score();
    const char* kinds[] = {"gart_attention_scalar", "gart_attention_tensor<gart_tf32x3>",
                           "gart_attention_tensor<gart_tf32>", "gart_attention_half<gart_f16>",
                           "gart_attention_half<gart_bf16>"};
    f_.line("typedef gart_attention<", kinds[static_cast<size_t>(arithmetic_)], ", Q, K, V, ", tile_.head, ", ",
            tile_.columns, ", ", tile_.query_warps, ", ", tile_.key_groups, ", ", tile_.key_tiles, "> Attention;");
    f_.line("GART_SHARED(shared);");
    f_.line("Attention attention;");
    f_.line("attention.run<", read_ahead(), ">(q, k, v, ", int_text(f_, k_.t.extent), ", shared, score);");
    f_.line("if (!Attention::has_results()) return;");
    results();
    KernelText text = f_.finish("attention", tile_.threads());
    text.tasks = blocks;
    for (const Axis& a : k_.batch) text.tasks = text.tasks * a.extent;
    text.shared_bytes = tile_.shared_bytes();
    text.note = concat(describe(tile_), ", ", name_of(arithmetic_));
    return text;
  }

 private:
  /// Declares a tile whose lines run along `line`, with stride `line_stride` and extent `extent`. Accesses have 16
  /// bytes where the alignment allows.
  void declare(const char* type, const char* name, const MatrixView& view, const Dim& row_stride,
               const Dim& depth_stride, bool along_depth, const std::string& shape, const Dim& line_extent,
               const std::string& extents) {
    const Dim &line = along_depth ? depth_stride : row_stride, &other = along_depth ? row_stride : depth_stride;
    Product::Copy copy{along_depth, f_.kernel().operands[static_cast<size_t>(view.operand)].dtype, 1};
    std::vector<Dim> multiples = view.batch_strides;
    multiples.insert(multiples.end(), {other, view.offset, line_extent});
    if (line.is(1)) copy.vector = widest_vector(copy.stored, multiples);
    std::string base = concat(f_.pointer(view.operand), " + ", f_.dim(view.offset).as_wide());
    for (size_t b = 0; b < k_.batch.size(); ++b)
      if (!view.batch_strides[b].is(0))
        base += concat(" + a", k_.batch[b].id, " * ", f_.dim(view.batch_strides[b]).as_wide());
    const Conversion conversion = conversion_of(copy.stored, arithmetic_);
    f_.line("typedef gart_matrix<", conversion.name, ", ", tile_type(conversion, shape, along_depth), ", ",
            tile_.threads(), ", ", conversion.vector(copy), "> ", type, ";");
    f_.line("const ", type, " ", name, "(", base, ", ", f_.dim(row_stride).text, ", ", f_.dim(depth_stride).text, ", ",
            extents, ");");
  }

  void declare_operands() {
    const std::string d = int_text(f_, k_.d.extent), t = int_text(f_, k_.t.extent);
    declare("Q", "q", k_.q, k_.q.row_stride, k_.q.column_stride, true, concat(tile_.queries(), ", ", tile_.head),
            k_.d.extent, concat("row0, ", int_text(f_, k_.m.extent), ", ", d));
    declare("K", "k", k_.k, k_.k.column_stride, k_.k.row_stride, true, concat(tile_.keys(), ", ", tile_.head),
            k_.d.extent, concat("0, ", t, ", ", d));
    declare("V", "v", k_.v, k_.v.column_stride, k_.v.row_stride, false, concat(8 * tile_.columns, ", ", tile_.keys()),
            k_.n.extent, concat("0, ", int_text(f_, k_.n.extent), ", ", t));
  }

  /// Bit mask of the constant operands (Q: 1, K: 2, V: 4); their first tiles are read before the previous launch ends.
  int read_ahead() {
    const int64_t lines[] = {tile_.queries(), tile_.keys(), tile_.keys()};
    const int operands[] = {k_.q.operand, k_.k.operand, k_.v.operand};
    int sum = 0;
    f_.wait_later(-1, 0);
    for (size_t i = 0; i < 3; ++i) {
      if (!is_constant(f_.kernel(), operands[i])) continue;
      const int64_t element = size_of(f_.kernel().operands[static_cast<size_t>(operands[i])].dtype);
      f_.wait_later(operands[i], lines[i] * (i < 2 ? tile_.head : 8 * tile_.columns) * element);
      sum += 1 << i;
    }
    return sum;
  }

  /// Rows after the last query compute the last query's scores again. These are never stored.
  void declare_score() {
    f_.open("const auto score = [&](int row, int key, float sum)");
    EvaluationPoint place = batch_;
    declare_axis(f_, place, k_.m, concat("gart_min(row0 + row, ", int_text(f_, k_.m.extent), " - 1)"));
    declare_axis(f_, place, k_.t, "key");
    place.accumulator = "sum";
    ExprText exprs(f_, place);
    const std::string value = exprs.value(k_.scores);
    f_.line("return ", value, ";");
    f_.close(";");
  }

  static std::string sum_name(int v) {
    return v == 0 ? "attention.sum(i, j)" : concat("attention.sum(i, j + ", v, ")");
  }

  void results() {
    f_.line("#pragma unroll");
    f_.open("for (int i = 0; i < Attention::kRows; ++i)");
    f_.line("const int row = row0 + Attention::row(i);");
    f_.line("if (row >= ", int_text(f_, k_.m.extent), ") continue;");
    EvaluationPoint place = batch_;
    declare_axis(f_, place, k_.m, "row");
    if (k_.is_nan_zero || k_.row_mask) drop_rows(place);
    EpilogueText epilogue(f_, epilogue_, epilogue_.vector);
    each_column(place, [&](const EvaluationPoint& here) { epilogue.values(here, sum_name); });
    each_column(place, [&](const EvaluationPoint& here) { epilogue.store(here, sum_name); });
    f_.close();
  }

  /// Writes zeros for values whose weights are all zero.
  void drop_rows(const EvaluationPoint& place) {
    std::string dropped = k_.is_nan_zero ? "!(attention.total[i] > 0.0f)" : "";
    if (k_.row_mask) {
      ExprText exprs(f_, place);
      const std::string row_mask = exprs.value(k_.row_mask);
      dropped += concat(dropped.empty() ? "" : " || ", "!", row_mask);
    }
    f_.open("if (", dropped, ")");
    f_.line("#pragma unroll");
    f_.line("for (int j = 0; j < Attention::kColumns; ++j) attention.sum(i, j) = 0.0f;");
    f_.close();
  }

  template <class Body>
  void each_column(EvaluationPoint place, const Body& body) {
    f_.line("#pragma unroll");
    f_.open("for (int j = 0; j < Attention::kColumns; j += ", epilogue_.vector, ")");
    f_.line("const int column = Attention::column(j);");
    f_.open("if (column < ", int_text(f_, k_.n.extent), ")");
    declare_axis(f_, place, k_.n, "column");
    body(place);
    f_.close();
    f_.close();
  }

  FunctionText f_;
  const AttentionKernel& k_;
  Arithmetic arithmetic_;
  AttentionTile tile_;
  Epilogue epilogue_;
  EvaluationPoint batch_;
};

/// A variant of the kernel: an index into the warpgroup tiles or into the other tiles.
struct KernelVariant {
  bool is_wide = false;
  size_t index = 0;
  double clocks = 0;
};

/// Best first.
std::vector<KernelVariant> variants_of(const std::vector<WideAttentionTile>& wide,
                                       const std::vector<AttentionTile>& tiles) {
  std::vector<KernelVariant> variants;
  for (size_t i = 0; i < wide.size(); ++i) variants.push_back({true, i, wide[i].clocks});
  for (size_t i = 0; i < tiles.size(); ++i) variants.push_back({false, i, tiles[i].clocks});
  std::stable_sort(variants.begin(), variants.end(),
                   [](const KernelVariant& a, const KernelVariant& b) { return a.clocks < b.clocks; });
  return variants;
}

}  // namespace

KernelText emit_attention(const Kernel& kernel, const Target& target) {
  const auto& attention = std::get<AttentionKernel>(kernel.body);
  const std::vector<WideAttentionTile> wide = wide_attention_tiles(kernel, target);
  const double keys = wide.empty() ? typical(attention.t.extent) : typical_keys(attention);
  const std::vector<AttentionTile> tiles = tiles_of(target, attention, keys);
  static_assert(kMostCandidates >= 15);
  const std::vector<KernelVariant> variants = variants_of(wide, tiles);
  std::vector<std::string> candidates;
  for (const KernelVariant& w : variants)
    candidates.push_back(w.is_wide ? describe(wide[w.index]) : describe(tiles[w.index]));
  const Choice choice = choose(target, "attention", shape_text(kernel, attention), std::move(candidates));
  const KernelVariant& variant = variants[choice.index];
  KernelText text = variant.is_wide ? emit_wide_attention(kernel, target, wide[variant.index])
                                    : AttentionText(kernel, attention, tiles[variant.index]).emit();
  text.note += choice.note();
  return text;
}

}  // namespace gcg::cuda
