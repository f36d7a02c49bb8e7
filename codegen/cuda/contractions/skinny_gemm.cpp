// Products with few rows or columns: vector times matrix. Reading the larger operand once takes most of the time.
#include <algorithm>

#include "codegen/cuda/contractions/choice.h"
#include "codegen/cuda/contractions/cluster_product.h"
#include "codegen/cuda/contractions/epilogue_text.h"
#include "codegen/cuda/contractions/vector_product.h"
#include "codegen/cuda/text/vector_access.h"
#include "compiler/kernel/machine.h"
#include "compiler/kernel/typical_extent.h"

namespace gcg::cuda {
namespace {

// The most lines whose sums a warp holds in registers; tensor cores take kMostVectors.
constexpr int64_t kMostLines = 8;
constexpr int kWarps = 8;  // of a block

/// How the lines of the larger operand are divided.
struct Sharing {
  int each = 1;    // lines that a warp processes at once; more than one only if lines run along the depth
  int splits = 1;  // splits of the depth
};

std::string describe(const Sharing& s) {
  return concat(s.each, s.each == 1 ? " line a warp, " : " lines a warp, ", s.splits,
                s.splits == 1 ? " split" : " splits");
}

/// A product whose smaller operand is skinny: it has few lines.
struct SkinnyGemm {
  SkinnyGemm(const Product& product, bool rows)
      : few_rows(rows),
        few(static_cast<int>((rows ? product.rows : product.columns).constant())),
        many(rows ? product.columns : product.rows),
        copy(rows ? product.right : product.left),
        few_copy(rows ? product.left : product.right) {}

  int lines_of_block(const Sharing& s) const { return copy.along_depth ? kWarps * s.each : kWarpThreads; }
  int unroll(const Sharing& s) const { return copy.along_depth ? 4 / s.each : few * copy.vector <= 16 ? 8 : 4; }

  bool few_rows;
  int few;
  Dim many;
  Product::Copy copy, few_copy;
};

/// Expected seconds, limited by the reads in flight or by the memory's bandwidth.
double seconds(const Machine& gpu, const Product& product, const SkinnyGemm& l, const Sharing& s) {
  const double depth = typical(product.depth), lines = typical(l.many) * typical(product.batch);
  const auto element = static_cast<double>(size_of(l.copy.stored));
  const double blocks = lines / l.lines_of_block(s) * s.splits;
  const double block_bytes = element * l.copy.vector * l.unroll(s) * s.each * kWarpThreads * kWarps;
  const double reads = std::min(blocks, 6.0 * gpu.processors) * block_bytes / (kMemoryLatency * 1e-6);
  return element * depth * lines / std::min(reads, gpu.bytes_per_second) + (s.splits > 1 ? kDependentLaunch * 1e-6 : 0);
}

/// All divisions that are worth a measurement, in the order of the cost model.
std::vector<Sharing> sharings(const Machine& gpu, const Product& product, const SkinnyGemm& l) {
  constexpr int kMostSums = 8;  // sums per thread
  const int usual = l.few <= 2 && typical(l.many) >= 8192 ? 4 : 1;
  std::vector<Sharing> all;
  for (int each : {1, 2, 4}) {
    if (each > 1 && (!l.copy.along_depth || each * l.few > kMostSums)) continue;
    for (int s = 1; s == 1 || (s <= 16 && typical(product.depth) / s >= 128); s *= 2) all.push_back({each, s});
  }
  std::stable_sort(all.begin(), all.end(), [&](const Sharing& a, const Sharing& b) {
    if ((a.each == usual) != (b.each == usual)) return a.each == usual;
    return seconds(gpu, product, l, a) < seconds(gpu, product, l, b);
  });
  return all;
}

class SkinnyGemmText {
 public:
  SkinnyGemmText(const Kernel& kernel, const Product& product, const SkinnyGemm& lines, const Sharing& sharing)
      : f_(kernel), p_(product), l_(lines), sharing_(sharing) {}

  KernelText emit(const std::string& kind) {
    const Dim groups = ceil_div(l_.many, Dim(lines_of_block()));
    f_.include("gart_dot.cuh");
    const std::string count = int_text(f_, groups), batches = int_text(f_, p_.batch);
    f_.line("const int first_line = blockIdx.x % ", count, " * ", lines_of_block(), ", rest = blockIdx.x / ", count,
            ";");
    f_.line("const int batch = rest % ", batches, ";");
    const std::string end = int_text(f_, p_.depth);
    if (sharing_.splits > 1) {
      f_.line("const int split = rest / ", batches, ", first = split * ", depth_of_split(), ";");
      f_.line("const int end = gart_min(first + ", depth_of_split(), ", ", end, ");");
    } else {
      f_.line("const int first = 0, end = ", end, ";");
    }
    EvaluationPoint place;
    p_.declare_batch(f_, place);
    declare("few", l_.few_rows, l_.few_rows ? p_.rows : p_.columns);
    declare("many", !l_.few_rows, l_.many);
    const int many = l_.few_rows ? p_.right_operand : p_.left_operand;
    const bool ahead = is_constant(f_.kernel(), many);
    const int64_t block_reads =
        int64_t{1} * unroll() * l_.copy.vector * kWarpThreads * kWarps * (l_.copy.along_depth ? sharing_.each : 1);
    f_.wait_later(ahead ? many : -1, block_reads * size_of(l_.copy.stored));
    sum(ahead ? "true" : "false");
    finish_sum(place);
    KernelText text = f_.finish(kind + "_vector", kWarpThreads * kWarps);
    text.tasks = groups * p_.batch * sharing_.splits;
    text.note = concat("vectors of ", l_.few, ", ", l_.copy.along_depth ? "along" : "across", " the depth by ",
                       size_of(l_.copy.stored) * l_.copy.vector, " bytes, ", describe(sharing_));
    if (sharing_.splits > 1) text.scratch_bytes = p_.batch * p_.rows * p_.columns * (4 * sharing_.splits);
    return text;
  }

 private:
  int lines_of_block() const { return l_.lines_of_block(sharing_); }
  int unroll() const { return l_.unroll(sharing_); }
  /// The depth of a split, a multiple of every vector length.
  std::string depth_of_split() { return int_text(f_, ceil_div(p_.depth, Dim(8 * sharing_.splits)) * 8); }

  void declare(const char* name, bool left, const Dim& lines) {
    const Product::Matrix m = *p_.matrix(f_, left);
    const std::string conversion = conversion_of((left ? p_.left : p_.right).stored, Arithmetic::scalar).name;
    f_.line("const gart_lines<", conversion, "> ", name, " = {", m.base, ", ", f_.dim(m.line_stride).as_wide(), ", ",
            f_.dim(m.depth_stride).as_wide(), ", ", int_text(f_, lines), "};");
  }

  void sum(const char* ahead) {
    if (l_.copy.along_depth) {
      const bool both = l_.few_copy.along_depth && l_.few_copy.vector == l_.copy.vector;
      f_.line("const gart_dot dot = gart_dot_along_depth<", l_.few, ", ", sharing_.each, ", ", l_.copy.vector, ", ",
              both ? "true" : "false", ", ", unroll(), ", ", ahead, ">(few, many, first_line + (int)threadIdx.x / ",
              kWarpThreads, " * ", sharing_.each, ", first, end);");
      return;
    }
    f_.line("__shared__ float shared[", kWarps * l_.few * kWarpThreads, "];");
    f_.line("const gart_dot dot = gart_dot_along_lines<", l_.few, ", ", l_.copy.vector, ", ", kWarps, ", ", unroll(),
            ", ", ahead, ">(few, many, first_line, first, end, shared);");
  }

  void finish_sum(EvaluationPoint place) {
    f_.line("if (dot.few < 0) return;");
    f_.line("const int row = dot.", l_.few_rows ? "few" : "many", ", column = dot.", l_.few_rows ? "many" : "few", ";");
    if (sharing_.splits > 1) {
      const std::string columns = int_text(f_, p_.columns);
      f_.line("static_cast<float*>(workspace)[(((long long)split * ", int_text(f_, p_.batch), " + batch) * ",
              int_text(f_, p_.rows), " + row) * ", columns, " + column] = dot.sum;");
      return;
    }
    f_.line("float sum = dot.sum;");
    finish_one_sum(f_, p_, place);
  }

  FunctionText f_;
  const Product& p_;
  const SkinnyGemm& l_;
  const Sharing sharing_;
};

bool is_few(const Dim& lines, int64_t most) {
  return lines.is_constant() && lines.constant() >= 1 && lines.constant() <= most;
}

/// True if the skinny operand is the left one (few rows), false if it is the right one (few columns). If both are
/// skinny, the one with fewer lines counts.
std::optional<bool> few_rows_of(const Product& product, int64_t most) {
  const bool rows = is_few(product.rows, most), columns = is_few(product.columns, most);
  if (!rows && !columns) return std::nullopt;
  return rows && !(columns && product.rows.constant() > product.columns.constant());
}

/// True if every operand is a matrix and the larger one can be read in order.
bool fits(const Kernel& kernel, const Product& product, bool few_rows) {
  FunctionText scratch(kernel);
  const auto many = product.matrix(scratch, !few_rows), few = product.matrix(scratch, few_rows);
  return many && few && (many->line_stride.is(1) || many->depth_stride.is(1));
}

/// The variants worth measuring: tensor cores, divisions of lines among warps, then tiles.
struct Candidates {
  std::vector<VectorTiling> tilings;
  std::vector<Sharing> sharings;
  std::vector<ProductTile> tiles;
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const VectorTiling& f : tilings) names.push_back(describe(f));
    for (const Sharing& s : sharings) names.push_back(describe(s));
    for (const ProductTile& t : tiles) names.push_back(describe(t));
    return names;
  }
};

class SkinnyGemmChoice {
 public:
  SkinnyGemmChoice(const Kernel& kernel, const Target& target, const Product& product, std::string kind)
      : kernel_(kernel), target_(target), product_(product), kind_(std::move(kind)) {}

  KernelText emit() {
    find_candidates();
    if (all_.tilings.empty() && all_.sharings.empty()) return {};
    add_tiles();
    const Choice choice = choose(target_, kind_ + "_vector", shape_text(product_), all_.names());
    KernelText text = emit(choice.index);
    text.note += choice.note();
    return text;
  }

 private:
  void find_candidates() {
    constexpr size_t kMostSharings = 12;
    if (const auto few_rows = few_rows_of(product_, kMostVectors)) {
      few_rows_ = *few_rows;
      all_.tilings = vector_tilings(kernel_, target_, product_, few_rows_);
    }
    const auto few_rows = few_rows_of(product_, kMostLines);
    if (!few_rows || !fits(kernel_, product_, *few_rows)) return;
    lines_.emplace(product_, *few_rows);
    all_.sharings = sharings(machine_of(target_), product_, *lines_);
    all_.sharings.resize(std::min(all_.sharings.size(), kMostSharings - all_.tilings.size()));
  }

  void add_tiles() {
    if (target_.decisions != nullptr)
      all_.tiles =
          candidate_tiles(kernel_, target_, product_, kMostCandidates - all_.tilings.size() - all_.sharings.size());
  }

  KernelText emit(size_t index) const {
    if (index < all_.tilings.size())
      return emit_vectors(kernel_, target_, product_, few_rows_, all_.tilings[index], kind_);
    index -= all_.tilings.size();
    if (index >= all_.sharings.size())
      return emit_product(kernel_, product_, all_.tiles[index - all_.sharings.size()], kind_);
    const Sharing& sharing = all_.sharings[index];
    KernelText text = SkinnyGemmText(kernel_, product_, *lines_, sharing).emit(kind_);
    if (sharing.splits > 1) text.then.push_back(emit_split_sum(kernel_, product_, sharing.splits, kind_));
    return text;
  }

  const Kernel& kernel_;
  const Target& target_;
  const Product& product_;
  std::string kind_;
  Candidates all_;
  bool few_rows_ = true;  // True if the few lines of `tilings` are rows of the left operand
  std::optional<SkinnyGemm> lines_;
};

}  // namespace

KernelText emit_skinny_gemm(const Kernel& kernel, const Target& target, const Product& product,
                            const std::string& kind) {
  return SkinnyGemmChoice(kernel, target, product, kind).emit();
}

}  // namespace gcg::cuda
