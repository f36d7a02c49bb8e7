// The second launch of split-K, which adds the partial sums.
#include "codegen/cuda/contractions/epilogue_text.h"
#include "codegen/cuda/contractions/product.h"

namespace gcg::cuda {

KernelText emit_split_sum(const Kernel& kernel, const Product& product, int splits, const std::string& kind) {
  constexpr int kThreads = 128;
  FunctionText f(kernel);
  const int vector = product.vector;
  const Dim groups = floor_div(product.columns, Dim(vector)), points = product.batch * product.rows * groups;
  const std::string rows = int_text(f, product.rows), row_groups = int_text(f, groups);
  f.line("const long long point = blockIdx.x * ", kThreads, "LL + threadIdx.x;");
  f.line("if (point >= ", f.dim(points).as_wide(), ") return;");
  f.line("const int column = (int)gart_index_mod(point, ", row_groups, ") * ", vector, ";");
  f.line("const long long line = gart_index_div(point, ", row_groups, ");");
  f.line("const int row = (int)gart_index_mod(line, ", rows, "), batch = (int)gart_index_div(line, ", rows, ");");
  f.line("const float* const partial = static_cast<const float*>(workspace) + point * ", vector, ";");
  f.line("float sums[", vector, "] = {};");
  f.line("#pragma unroll");
  f.open("for (int split = 0; split < ", splits, "; ++split)");
  f.line("const gart_vector<float, ", vector, "> part = gart_load<", vector, ">(partial + split * ",
         f.dim(points * vector).as_wide(), ");");
  f.line("#pragma unroll");
  f.line("for (int v = 0; v < ", vector, "; ++v) sums[v] += part.at[v];");
  f.close();
  EvaluationPoint place;
  product.declare_batch(f, place);
  product.declare_row(f, place);
  product.declare_column(f, place);
  const auto name = [](int v) { return concat("sums[", v, "]"); };
  EpilogueText epilogue(f, product, vector);
  epilogue.values(place, name);
  epilogue.store(place, name);
  KernelText text = f.finish(kind + "_sum", kThreads);
  text.tasks = ceil_div(points, Dim(kThreads));
  text.scratch_bytes = points * (4 * vector * splits);
  text.note = concat("adds ", splits, " splits");
  return text;
}

}  // namespace gcg::cuda
