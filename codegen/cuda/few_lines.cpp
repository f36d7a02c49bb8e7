// Products with few rows or columns: vector times matrix. Time is that of reading the larger operand once.
#include <algorithm>

#include "codegen/cuda/epilogue_text.h"
#include "codegen/cuda/vector_access.h"

namespace gcg::cuda {
namespace {

constexpr int64_t kMostLines = 8;
constexpr int kWarps = 8;                     // of a block
constexpr double kLatencySeconds = 0.7e-6;    // of a read from memory
constexpr double kSecondLaunch = 1.5e-6;

class FewLinesText {
 public:
  FewLinesText(const Kernel& kernel, const Target& target, const Product& product, bool few_rows)
      : f_(kernel),
        p_(product),
        gpu_(gpu_of(target)),
        few_rows_(few_rows),
        few_(static_cast<int>((few_rows ? product.rows : product.columns).constant())),
        many_(few_rows ? product.columns : product.rows),
        copy_(few_rows ? product.right : product.left),
        few_copy_(few_rows ? product.left : product.right) {}

  KernelText emit(const std::string& kind) {
    choose_slices();
    const Dim groups = ceil_div(many_, Dim(lines_of_block()));
    f_.include("gart_dot.cuh");
    const std::string count = int_text(f_, groups), batches = int_text(f_, p_.batch);
    f_.line("const int first_line = blockIdx.x % ", count, " * ", lines_of_block(), ", rest = blockIdx.x / ", count, ";");
    f_.line("const int batch = rest % ", batches, ";");
    const std::string end = int_text(f_, p_.depth);
    if (slices_ > 1) {
      f_.line("const int slice = rest / ", batches, ", first = slice * ", depth_of_slice(), ";");
      f_.line("const int end = gart_min(first + ", depth_of_slice(), ", ", end, ");");
    } else {
      f_.line("const int first = 0, end = ", end, ";");
    }
    Place place;
    p_.declare_batch(f_, place);
    declare("few", few_rows_, few_rows_ ? p_.rows : p_.columns);
    declare("many", !few_rows_, many_);
    const int many = few_rows_ ? p_.right_operand : p_.left_operand;
    const bool ahead = is_constant(f_.kernel(), many);
    const int64_t block_reads = int64_t{1} * unroll() * copy_.vector * 32 * kWarps * (copy_.along_depth ? each() : 1);
    f_.wait_later(ahead ? many : -1, block_reads * size_of(copy_.stored));
    sum(ahead ? "true" : "false");
    finish_sum(place);
    KernelText text = f_.finish(kind + "_vector", 32 * kWarps);
    text.tasks = groups * p_.batch * slices_;
    text.note = concat("vectors of ", few_, ", ", copy_.along_depth ? "along" : "across", " the depth by ",
                       size_of(copy_.stored) * copy_.vector, " bytes");
    if (slices_ > 1) {
      text.note += concat(", ", slices_, " slices");
      text.scratch_bytes = p_.batch * p_.rows * p_.columns * (4 * slices_);
    }
    return text;
  }
  int slices() const { return slices_; }

 private:
  int each() const { return few_ <= 2 && typical(many_) >= 8192 ? 4 : 1; }
  int lines_of_block() const { return copy_.along_depth ? kWarps * each() : 32; }
  int unroll() const { return copy_.along_depth ? 4 / each() : few_ * copy_.vector <= 16 ? 8 : 4; }
  /// A multiple of every vector.
  std::string depth_of_slice() { return int_text(f_, ceil_div(p_.depth, Dim(8 * slices_)) * 8); }

  /// As many slices as keep enough reads under way.
  void choose_slices() {
    const double depth = typical(p_.depth), lines = typical(many_) * typical(p_.batch);
    const auto element = static_cast<double>(size_of(copy_.stored));
    const double bytes = element * depth * lines, blocks = lines / lines_of_block();
    const double block_bytes = element * copy_.vector * unroll() * each() * 32 * kWarps;
    double best = 0;
    for (int s = 1; s <= 16 && depth / s >= 128; s *= 2) {
      const double reads = std::min(blocks * s, 6.0 * gpu_.processors) * block_bytes / kLatencySeconds;
      const double time = bytes / std::min(reads, gpu_.bytes_per_second) + (s > 1 ? kSecondLaunch : 0);
      if (s == 1 || time < best) {
        best = time;
        slices_ = s;
      }
    }
  }

  void declare(const char* name, bool left, const Dim& lines) {
    const Product::Matrix m = *p_.matrix(f_, left);
    const std::string conversion = conversion_of((left ? p_.left : p_.right).stored, Arithmetic::scalar).name;
    f_.line("const gart_lines<", conversion, "> ", name, " = {", m.base, ", ", f_.dim(m.line_stride).as_wide(), ", ",
            f_.dim(m.depth_stride).as_wide(), ", ", int_text(f_, lines), "};");
  }

  void sum(const char* ahead) {
    if (copy_.along_depth) {
      const bool both = few_copy_.along_depth && few_copy_.vector == copy_.vector;
      f_.line("const gart_dot dot = gart_dot_along_depth<", few_, ", ", each(), ", ", copy_.vector, ", ",
              both ? "true" : "false", ", ", unroll(), ", ", ahead, ">(few, many, first_line + (int)threadIdx.x / 32 * ", each(),
              ", first, end);");
      return;
    }
    f_.line("__shared__ float shared[", kWarps * few_ * 32, "];");
    f_.line("const gart_dot dot = gart_dot_along_lines<", few_, ", ", copy_.vector, ", ", kWarps, ", ", unroll(), ", ", ahead,
            ">(few, many, first_line, first, end, shared);");
  }

  void finish_sum(Place place) {
    f_.line("if (dot.few < 0) return;");
    f_.line("const int row = dot.", few_rows_ ? "few" : "many", ", column = dot.", few_rows_ ? "many" : "few", ";");
    if (slices_ > 1) {
      const std::string columns = int_text(f_, p_.columns);
      f_.line("static_cast<float*>(workspace)[(((long long)slice * ", int_text(f_, p_.batch), " + batch) * ",
              int_text(f_, p_.rows), " + row) * ", columns, " + column] = dot.sum;");
      return;
    }
    f_.line("float sum = dot.sum;");
    p_.declare_row(f_, place);
    p_.declare_column(f_, place);
    EpilogueText epilogue(f_, p_, 1);
    const auto name = [](int) { return std::string("sum"); };
    epilogue.values(place, name);
    epilogue.store(place, name);
  }

  FunctionText f_;
  const Product& p_;
  const Gpu& gpu_;
  bool few_rows_;
  int few_;
  Dim many_;
  Product::Copy copy_, few_copy_;
  int slices_ = 1;
};

bool is_few(const Dim& lines) { return lines.is_constant() && lines.constant() >= 1 && lines.constant() <= kMostLines; }

/// Is every operand a matrix whose larger one can be read in order?
bool fits(const Kernel& kernel, const Product& product, bool few_rows) {
  FunctionText scratch(kernel);
  const auto many = product.matrix(scratch, !few_rows), few = product.matrix(scratch, few_rows);
  return many && few && (many->line_stride.is(1) || many->depth_stride.is(1));
}

}  // namespace

KernelText emit_few_lines(const Kernel& kernel, const Target& target, const Product& product, const std::string& kind) {
  const bool few_rows = is_few(product.rows) && !(is_few(product.columns) && product.rows.constant() > product.columns.constant());
  if ((!few_rows && !is_few(product.columns)) || !fits(kernel, product, few_rows)) return {};
  FewLinesText lines(kernel, target, product, few_rows);
  KernelText text = lines.emit(kind);
  if (lines.slices() > 1) text.then.push_back(emit_slice_sum(kernel, product, lines.slices(), kind));
  return text;
}

}  // namespace gcg::cuda
