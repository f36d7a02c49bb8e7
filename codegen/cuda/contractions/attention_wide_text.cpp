// Writes the text of attention by warpgroups.
#include <array>
#include <cstdio>

#include "codegen/cuda/contractions/attention_scores.h"
#include "codegen/cuda/contractions/attention_wide.h"
#include "codegen/cuda/contractions/epilogue_text.h"
#include "codegen/cuda/text/vector_access.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/kernel/machine.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

constexpr int64_t kElements = 8;  // elements of 16 bytes
constexpr int64_t kBarrierBytes = 8 * 10, kStagingBytes = 2048;

int chunks(const Dim& head) { return static_cast<int>((head.constant() + 63) / 64); }

/// Registers per thread, for the warp that requests boxes and for the multiplying warpgroups, which share the registers
/// of the multiprocessor. 0: the number at entry stays.
struct Registers {
  int few = 0, many = 0, at_entry = 0;
};
Registers registers_of(const WideAttentionTile& t) {
  if (t.groups == 1) return {};
  return t.groups == 2 ? Registers{24, 240, 168} : Registers{32, 160, 128};
}

class WideAttentionText {
 public:
  WideAttentionText(const Kernel& kernel, Arithmetic arithmetic, const WideAttentionTile& tile)
      : f_(kernel), k_(std::get<AttentionKernel>(kernel.body)), tile_(tile), arithmetic_(arithmetic) {
    f_.ranges().add(k_.batch);
    f_.ranges().add({k_.m, k_.n, k_.t, k_.d});
    scores_ = scores_of(k_);
    epilogue_ = {k_.epilogue, k_.result, k_.index, k_.n.id, 1};  // a lane has pairs of neighbouring columns
    epilogue_.vector = std::min(2, epilogue_vector(kernel, epilogue_, k_.n.extent, k_.n.id));
    change_ = {scores_.scores, -1, {}, k_.t.id, 1};
    const bool pairs = is_multiple(k_.t.extent, 2);
    if (pairs && !vector_loads(scores_.scores, kernel.operands, k_.t.id, 2).empty()) change_.vector = 2;
  }

  KernelText emit(const Machine& gpu) {
    f_.include(tile_.splits > 1 ? "gart_attention_parts.cuh" : "gart_attention_wide.cuh");
    f_.wait_later(-1, 0);
    declare_seen();
    declare_types();
    const AttentionViews views = *attention_views(f_.kernel());
    declare_copy("copy_q", views.q, tile_.queries(), "kGartEvictFirst");
    declare_copy("copy_k", views.k, tile_.keys, "kGartEvictLast");
    declare_copy("copy_v", views.v, tile_.keys, "kGartEvictLast");
    f_.line("GART_SHARED(shared);");
    f_.line("Attention attention(shared, Tiles(", rows(), ", ", int_text(f_, extent_of(k_.batch)), ", seen));");
    if (tile_.splits == 1)
      run();
    else
      run_split();
    KernelText text = f_.finish("attention", tile_.threads(), 1, tile_.splits > 1 ? tile_.splits : 0);
    const Dim tiles = ceil_div(k_.m.extent, Dim(tile_.queries()));
    const bool pairs = !scores_.seen.lasts.empty() && scores_.seen.firsts.empty();
    const Dim units = (pairs && tile_.splits == 1 ? ceil_div(tiles, Dim(2)) : tiles) * extent_of(k_.batch);
    text.tasks = tile_.splits > 1 ? units * tile_.splits : min(units, Dim(gpu.processors));
    text.shared_bytes = wide_attention_shared_bytes(k_, tile_);
    text.least_registers = registers_of(tile_).at_entry;
    text.note = concat(describe(tile_), ", ", name_of(arithmetic_));
    return text;
  }

 private:
  void run() {
    f_.line("if (!Attention::multiplies()) return attention.feed(copy_q, copy_k, copy_v);");
    declare_change();
    declare_results();
    f_.line("attention.multiply(", scale_text(), ", change, results);");
  }

  /// The blocks of a cluster share the keys of one tile, which holds all queries of a head.
  void run_split() {
    f_.line("typedef gart_attention_parts<", k_.n.extent.constant(), ", ", tile_.splits, "> Parts;");
    f_.line("const Parts parts(shared + Attention::kBytes);");
    f_.open("if (!Attention::multiplies())");
    f_.line("attention.feed(copy_q, copy_k, copy_v);");
    f_.line("gart_meet_in_cluster();");
    f_.line("return gart_leave_cluster();");
    f_.close();
    declare_change();
    f_.open("const auto put = [&](const gart_attention_tile&, int, const auto& sums, const auto& softmax, void*)");
    f_.line("parts.put(sums, softmax);");
    f_.close(";");
    f_.line("attention.multiply(", scale_text(), ", change, put);");
    f_.line("gart_meet_in_cluster();");
    declare_part_result();
    f_.line("parts.add(", rows(), ", ", scale_text(), ", result);");
    f_.line("gart_leave_cluster();");
  }

  std::string rows() { return int_text(f_, k_.m.extent); }
  std::string keys() { return int_text(f_, k_.t.extent); }
  std::string bool_text(bool b) const { return b ? "true" : "false"; }

  /// The axes of the batch, from the variable `batch`.
  EvaluationPoint batch() {
    EvaluationPoint place;
    const std::vector<std::string> at = f_.coordinates(k_.batch, {"batch", false});
    for (size_t b = 0; b < at.size(); ++b) place.axes[k_.batch[b].id] = at[b];
    return place;
  }

  void declare_seen() {
    f_.open("const auto seen = [&](int batch)");
    f_.line("gart_seen_keys s = {", keys(), ", 1 << 30, -(1 << 30)};");
    const EvaluationPoint place = batch();
    ExprText exprs(f_, place);
    const auto take = [&](const std::vector<Expr>& bounds, const char* name, const char* function) {
      for (const Expr& e : bounds) {
        const std::string value = exprs.value(e);
        f_.line("s.", name, " = ", function, "(s.", name, ", gart_bound_of_keys(", value, "));");
      }
    };
    take(scores_.seen.ends, "end", "gart_min");
    take(scores_.seen.lasts, "last", "gart_min");
    take(scores_.seen.firsts, "first", "gart_max");
    f_.line("return s;");
    f_.close(";");
  }

  void declare_types() {
    const Registers registers = registers_of(tile_);
    const std::string half = name_of(arithmetic_);
    f_.line("typedef gart_attention_tiles<", tile_.queries(), ", ", tile_.keys, ", ", tile_.splits, ", ",
            bool_text(!scores_.seen.lasts.empty()), ", ", bool_text(!scores_.seen.firsts.empty()),
            ", decltype(seen)> Tiles;");
    f_.line("typedef gart_attention_wide<gart_wide_", half, ", gart_", half, ", Tiles, ", k_.d.extent.constant(), ", ",
            k_.n.extent.constant(), ", ", tile_.keys, ", ", tile_.groups, ", ", registers.few, ", ", registers.many,
            ", ", bool_text(tile_.takes_turns), "> Attention;");
  }

  void declare_copy(const char* name, const Product::TmaView& view, int lines, const char* hint) {
    f_.open("const auto ", name, " = [&](void* to, int column, int row, int batch, unsigned long long* barrier)");
    batch();
    TensorMap map;
    map.operand = view.operand;
    map.dtype = view.stored;
    map.offset = view.offset;
    std::string at;
    for (size_t d = 0; d < view.dimensions.size(); ++d) {
      const auto& dimension = view.dimensions[d];
      map.extents.push_back(dimension.extent);
      if (d > 0) map.strides.push_back(dimension.stride);
      map.box.push_back(dimension.kind == 'd' ? 64 : dimension.kind == 'r' ? lines : 1);
      at += concat(d == 0 ? "" : ", ", dimension.at);
    }
    f_.line("const int at[", view.dimensions.size(), "] = {", at, "};");
    f_.line("gart_copy_box(to, ", f_.map(std::move(map)), ", at, barrier, ", hint, ");");
    f_.close(";");
  }

  /// Scores after the last key or query belong to other rows; they are never used.
  void declare_change() {
    f_.open("const auto change = [&](int batch, int row, int key, float& first, float& second)");
    if (!scores_.scale) {
      EvaluationPoint place = batch();
      declare_axis(f_, place, k_.m, concat("gart_min(row, ", rows(), " - 1)"));
      EpilogueText text(f_, change_, change_.vector);
      for (int v = 0; v < 2; v += change_.vector) {
        f_.open("");
        EvaluationPoint here = place;
        declare_axis(f_, here, k_.t, concat("gart_min(key + ", v, ", ", keys(), " - ", change_.vector, ")"));
        text.values(here, [v](int i) { return std::string(v + i == 0 ? "first" : "second"); });
        f_.close();
      }
    }
    f_.close(";");
  }

  std::string scale_text() const {
    constexpr double kLog2OfE = 1.4426950408889634;
    const float scale = static_cast<float>(scores_.scale.value_or(1) * kLog2OfE);
    std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), "%.9gf", static_cast<double>(scale));
    std::string out = text.data();
    if (out.find_first_of(".en") == std::string::npos) out.insert(out.size() - 1, ".0");
    return out;
  }

  /// True if 16-bit results of a row are neighbours in memory and rows begin at multiples of 16 bytes.
  bool stores_whole_rows() const {
    const Operand& result = f_.kernel().operands[static_cast<size_t>(k_.result)];
    return name_of(result.dtype) == name_of(arithmetic_) && is_aligned(result, k_.index, k_.n.id, kElements);
  }

  void declare_results() {
    const int count = static_cast<int>(k_.n.extent.constant()) / 2;
    f_.open("const auto results = [&](const gart_attention_tile& tile, int row0, float (&sums)[", count,
            "], const Attention::Softmax& softmax, unsigned char* staging)");
    f_.line("const int batch = tile.batch;");
    const EvaluationPoint place = batch();
    const bool whole_rows = stores_whole_rows();
    if (!whole_rows || k_.row_mask || k_.is_nan_zero || k_.epilogue->kind != ExprKind::accumulator)
      each_row(place, whole_rows);
    if (whole_rows) store_rows(place);
    f_.close(";");
  }

  static std::string sum_name(int v) { return v == 0 ? "sums[i]" : concat("sums[i + ", v, "]"); }

  /// Writes the results of a lane: pairs of columns in each of its two rows.
  void each_row(EvaluationPoint place, bool stored_later) {
    f_.line("#pragma unroll");
    f_.open("for (int h = 0; h < 2; ++h)");
    f_.line("const int row = row0 + threadIdx.x % 32 / 4 + h * 8;");
    f_.line("if (row >= ", rows(), ") continue;");
    declare_axis(f_, place, k_.m, "row");
    if (k_.is_nan_zero || k_.row_mask) {
      open_if_dropped(place, "softmax.total[h]");
      f_.line("#pragma unroll");
      f_.line("for (int j = 0; j < ", k_.n.extent.constant() / 4, "; ++j) sums[j / 2 * 4 + h * 2 + j % 2] = 0.0f;");
      f_.close();
    }
    EpilogueText epilogue(f_, epilogue_, epilogue_.vector);
    each_column(place, [&](const EvaluationPoint& here) { epilogue.values(here, sum_name); });
    if (!stored_later) each_column(place, [&](const EvaluationPoint& here) { epilogue.store(here, sum_name); });
    f_.close();
  }

  /// Opens "if (...) {" for rows whose weights are all zero.
  void open_if_dropped(const EvaluationPoint& place, const std::string& total) {
    std::string dropped = k_.is_nan_zero ? concat("!(", total, " > 0.0f)") : "";
    if (k_.row_mask) {
      ExprText exprs(f_, place);
      const std::string row_mask = exprs.value(k_.row_mask);
      dropped += concat(dropped.empty() ? "" : " || ", "!", row_mask);
    }
    f_.open("if (", dropped, ")");
  }

  /// Declares the results of a thread from the cluster's sums: four columns of a row.
  void declare_part_result() {
    f_.line("const int batch = blockIdx.x / ", tile_.splits, ";");
    EvaluationPoint place = batch();
    f_.open("const auto result = [&](int row, int first, float (&sums)[4], float total)");
    declare_axis(f_, place, k_.m, "row");
    if (k_.is_nan_zero || k_.row_mask) {
      open_if_dropped(place, "total");
      f_.line("sums[0] = sums[1] = sums[2] = sums[3] = 0.0f;");
      f_.close();
    }
    epilogue_.vector = epilogue_vector(f_.kernel(), epilogue_, k_.n.extent, k_.n.id);
    EpilogueText epilogue(f_, epilogue_, epilogue_.vector);
    f_.line("#pragma unroll");
    f_.open("for (int i = 0; i < 4; i += ", epilogue_.vector, ")");
    f_.line("const int column = first + i;");
    declare_axis(f_, place, k_.n, "column");
    epilogue.values(place, sum_name);
    epilogue.store(place, sum_name);
    f_.close();
    f_.close(";");
  }

  template <class Body>
  void each_column(EvaluationPoint place, const Body& body) {
    f_.line("#pragma unroll");
    f_.open("for (int j = 0; j < ", k_.n.extent.constant() / 4, "; j += ", epilogue_.vector, ")");
    f_.line("const int i = j / 2 * 4 + h * 2 + j % 2, column = j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2;");
    declare_axis(f_, place, k_.n, "column");
    body(place);
    f_.close();
  }

  void store_rows(EvaluationPoint place) {
    f_.open("gart_store_rows<gart_", name_of(arithmetic_), ", ", k_.n.extent.constant(), ">(staging, sums, ", rows(),
            " - row0, [&](int line, int column)");
    declare_axis(f_, place, k_.m, "row0 + line");
    declare_axis(f_, place, k_.n, "column");
    ExprText exprs(f_, place);
    const Access to = exprs.access(k_.result, k_.index);
    f_.line("return ", f_.pointer(k_.result), " + ", to.offset.text, ";");
    f_.close(");");
  }

  FunctionText f_;
  const AttentionKernel& k_;
  WideAttentionTile tile_;
  Arithmetic arithmetic_;
  AttentionScores scores_;
  Epilogue epilogue_, change_;
};

}  // namespace

/// Must match the layout of device/gart_attention_wide.cuh.
int64_t wide_attention_shared_bytes(const AttentionKernel& k, const WideAttentionTile& t) {
  const int64_t line = 128, depth = chunks(k.d.extent), columns = chunks(k.n.extent);
  const int64_t loop =
      line * (t.queries() * depth + 2 * t.keys * (depth + columns)) + 4 * t.groups * kStagingBytes + kBarrierBytes;
  return t.splits == 1 ? loop : loop + 64 * (k.n.extent.constant() + 6) * 4;
}

KernelText wide_attention_text(const Kernel& kernel, const Target& target, const WideAttentionTile& tile) {
  return WideAttentionText(kernel, arithmetic_of(target), tile).emit(machine_of(target));
}

}  // namespace gcg::cuda
