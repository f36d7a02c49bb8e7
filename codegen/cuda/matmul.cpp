// Matrix products on the CUDA cores: 64 x 64 tiles of the result through shared memory, f32 sums, the epilogue inlined.
#include "codegen/cuda/expr_text.h"
#include "codegen/cuda/operator_text.h"

namespace gcg::cuda {
namespace {

constexpr int kTile = 64, kDepth = 16, kThreads = 256;

class MatMulText {
 public:
  MatMulText(const Kernel& kernel, const MatMulKernel& matmul) : f_(kernel), mm_(matmul) {
    GCG_CHECK(matmul.packed_columns == 0, "packed weights are for CPUs");
  }

  KernelText emit() {
    const Dim rows = ceil_div(mm_.m.extent, Dim(kTile)), columns = ceil_div(mm_.n.extent, Dim(kTile));
    emit_coordinates(rows, columns);
    f_.line("__shared__ float as[", kDepth, "][", kTile + 4, "];");
    f_.line("__shared__ float bs[", kDepth, "][", kTile + 4, "];");
    f_.line("const int column = threadIdx.x % 16, row = threadIdx.x / 16;");
    f_.line("float sums[4][4] = {};");
    f_.open("for (long long k0 = 0; k0 < ", extent(mm_.k), "; k0 += ", kDepth, ")");
    emit_copy("as", mm_.a, mm_.a.row_stride, mm_.a.column_stride, "first_m", mm_.m);
    emit_copy("bs", mm_.b, mm_.b.column_stride, mm_.b.row_stride, "first_n", mm_.n);
    f_.line("__syncthreads();");
    emit_products();
    f_.line("__syncthreads();");
    f_.close();
    emit_epilogue();
    KernelText text = f_.finish("matmul", kThreads);
    text.tasks = rows * columns;
    for (const Axis& a : mm_.batch) text.tasks = text.tasks * a.extent;
    text.note = concat(kTile, "x", kTile, "x", kDepth, " tiles on CUDA cores");
    return text;
  }

 private:
  std::string extent(const Axis& axis) { return f_.dim(axis.extent).as_wide(); }

  void emit_coordinates(const Dim& rows, const Dim& columns) {
    f_.line("long long block = blockIdx.x;");
    auto split = [&](const std::string& name, const Dim& count, const std::string& factor) {
      const std::string n = f_.dim(count).as_wide();
      f_.line("const long long ", name, " = gart_index_mod(block, ", n, ")", factor, ";");
      f_.line("block = gart_index_div(block, ", n, ");");
    };
    split("first_n", columns, concat(" * ", kTile));
    split("first_m", rows, concat(" * ", kTile));
    for (size_t k = mm_.batch.size(); k-- > 0;) {
      const Axis& axis = mm_.batch[k];
      split(concat("batch", k), axis.extent, "");
      const std::string type = index_type(f_.ranges().of_axis(axis.id));
      place_.axes[axis.id] = concat("a", axis.id);
      f_.line("const ", type, " a", axis.id, " = (", type, ")batch", k, ";");
    }
  }

  /// tile[k][i] = view(first + i, k0 + k), zero outside; the contiguous direction is walked by neighbouring threads.
  void emit_copy(const char* tile, const MatrixView& view, const Dim& along, const Dim& depth, const char* first,
                 const Axis& axis) {
    std::string base = f_.dim(view.offset).as_wide();
    for (size_t k = 0; k < mm_.batch.size(); ++k)
      if (!view.batch_strides[k].is(0)) base += concat(" + batch", k, " * ", f_.dim(view.batch_strides[k]).as_wide());
    const bool deep = depth.is(1);
    f_.line("#pragma unroll");
    f_.open("for (int e = threadIdx.x; e < ", kTile * kDepth, "; e += ", kThreads, ")");
    f_.line("const int k = e ", deep ? "% " : "/ ", deep ? kDepth : kTile, ", i = e ", deep ? "/ " : "% ",
            deep ? kDepth : kTile, ";");
    const DType dtype = f_.kernel().operands[static_cast<size_t>(view.operand)].dtype;
    const std::string element = concat(f_.pointer(view.operand), "[", base, " + (", first, " + i) * ",
                                       f_.dim(along).as_wide(), " + (k0 + k) * ", f_.dim(depth).as_wide(), "]");
    f_.line(tile, "[k][i] = ", first, " + i < ", extent(axis), " && k0 + k < ", extent(mm_.k), " ? ",
            cast_text(dtype, DType::f32, element), " : 0.0f;");
    f_.close();
  }

  void emit_products() {
    f_.line("#pragma unroll");
    f_.open("for (int k = 0; k < ", kDepth, "; ++k)");
    f_.line("float a[4], b[4];");
    f_.line("#pragma unroll");
    f_.line("for (int i = 0; i < 4; ++i) a[i] = as[k][row * 4 + i], b[i] = bs[k][column + i * 16];");
    f_.line("#pragma unroll");
    f_.open("for (int i = 0; i < 4; ++i)");
    f_.line("#pragma unroll");
    f_.line("for (int j = 0; j < 4; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);");
    f_.close();
    f_.close();
  }

  void emit_epilogue() {
    for (const char* name : {"i", "j"}) {
      f_.line("#pragma unroll");
      f_.open("for (int ", name, " = 0; ", name, " < 4; ++", name, ")");
    }
    f_.open("if (first_m + row * 4 + i < ", extent(mm_.m), " && first_n + column + j * 16 < ", extent(mm_.n), ")");
    define(mm_.m, "first_m + row * 4 + i");
    define(mm_.n, "first_n + column + j * 16");
    place_.accumulator = "sums[i][j]";
    ExprText exprs(f_, place_);
    const std::string value = exprs.value(mm_.epilogue);
    exprs.store(mm_.result, mm_.index, value);
    for (int k = 0; k < 3; ++k) f_.close();
  }

  void define(const Axis& axis, const char* text) {
    const std::string type = index_type(f_.ranges().of_axis(axis.id));
    place_.axes[axis.id] = concat("a", axis.id);
    f_.line("const ", type, " a", axis.id, " = (", type, ")(", text, ");");
  }

  FunctionText f_;
  const MatMulKernel& mm_;
  Place place_;
};

}  // namespace

KernelText emit_matmul(const Kernel& kernel, const Target&) {
  return MatMulText(kernel, std::get<MatMulKernel>(kernel.body)).emit();
}

}  // namespace gcg::cuda
