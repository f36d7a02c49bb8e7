// Matrix products of strided views.
#include <array>

#include "codegen/cuda/contractions/block_product.h"
#include "codegen/cuda/contractions/product.h"
#include "codegen/cuda/text/vector_access.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

class MatMulProduct final : public Product {
 public:
  MatMulProduct(const Kernel& kernel, const MatMulKernel& matmul) : mm_(matmul) {
    GCG_CHECK(matmul.packed_columns == 0 || matmul.blocks, "packed floats are for CPUs");
    for (const Axis& a : mm_.batch) batch = batch * a.extent;
    rows = mm_.m.extent;
    columns = mm_.n.extent;
    depth = mm_.k.extent;
    left_operand = mm_.a.operand;
    right_operand = mm_.b.operand;
    left = copy(kernel, mm_.a, mm_.a.row_stride, mm_.a.column_stride, rows);
    if (!matmul.blocks) right = copy(kernel, mm_.b, mm_.b.column_stride, mm_.b.row_stride, columns);
    epilogue = mm_.epilogue;
    result = mm_.result;
    index = mm_.index;
    vector = epilogue_vector(kernel, *this, columns, mm_.n.id);
    lane = mm_.n.id;
    if (!matmul.blocks) tma_views_ = {find_tma_view(kernel, mm_.a, true), find_tma_view(kernel, mm_.b, false)};
    boxes = find_result_boxes(kernel, *this, {{mm_.n}, {mm_.m}, mm_.batch});
  }

  std::optional<Matrix> matrix(FunctionText& f, bool of_left) const override {
    const MatrixView& view = of_left ? mm_.a : mm_.b;
    std::string base = concat(f.pointer(view.operand), " + ", f.dim(view.offset).as_wide());
    for (size_t k = 0; k < mm_.batch.size(); ++k)
      if (!view.batch_strides[k].is(0))
        base += concat(" + a", mm_.batch[k].id, " * ", f.dim(view.batch_strides[k]).as_wide());
    if (of_left) return Matrix{base, view.row_stride, view.column_stride};
    return Matrix{base, view.column_stride, view.row_stride};
  }

  void declare_operands(FunctionText& f, const ProductTile& tile) const override {
    declare(f, tile, true, "Left", "left", concat("row0, ", int_text(f, rows)));
    declare(f, tile, false, "Right", "right", concat("column0, ", int_text(f, columns)));
  }

  std::optional<TmaView> tma_view(bool of_left) const override { return tma_views_[of_left ? 0 : 1]; }

  void declare_batch(FunctionText& f, EvaluationPoint& place) const override {
    const std::vector<std::string> at = f.coordinates(mm_.batch, {"batch", false});
    for (size_t k = 0; k < at.size(); ++k) place.axes[mm_.batch[k].id] = at[k];
  }
  void declare_row(FunctionText& f, EvaluationPoint& place) const override { declare_axis(f, place, mm_.m, "row"); }
  void declare_column(FunctionText& f, EvaluationPoint& place) const override {
    declare_axis(f, place, mm_.n, "column");
  }

 private:
  /// How an operand is copied. Lines run along the depth or across it, whichever is contiguous. Copies have 16 bytes if
  /// both strides allow.
  Copy copy(const Kernel& kernel, const MatrixView& view, const Dim& along, const Dim& deep, const Dim& extent) const {
    Copy c;
    c.stored = kernel.operands[static_cast<size_t>(view.operand)].dtype;
    c.along_depth = deep.is(1) || !along.is(1);
    const Dim &line = c.along_depth ? deep : along, &other = c.along_depth ? along : deep;
    std::vector<Dim> multiples = view.batch_strides;
    multiples.insert(multiples.end(), {other, view.offset, c.along_depth ? depth : extent});
    c.vector = line.is(1) ? widest_vector(c.stored, multiples) : 1;
    return c;
  }

  /// A view of 16-bit elements, or of f32 elements along the depth, with the batch dimensions in any order.
  std::optional<TmaView> find_tma_view(const Kernel& kernel, const MatrixView& view, bool of_left) const {
    const Operand& operand = kernel.operands[static_cast<size_t>(view.operand)];
    const bool along_depth = (of_left ? view.column_stride : view.row_stride).is(1);
    if (size_of(operand.dtype) != 2 && (operand.dtype != DType::f32 || !along_depth)) return std::nullopt;
    TmaView b{view.operand, operand.dtype, view.offset, {}};
    b.dimensions.push_back({depth, of_left ? view.column_stride : view.row_stride, "0", 'd'});
    if (of_left)
      b.dimensions.push_back({rows, view.row_stride, "row0", 'r'});
    else
      b.dimensions.push_back({columns, view.column_stride, "column0", 'r'});
    for (size_t k = 0; k < mm_.batch.size(); ++k)
      if (!view.batch_strides[k].is(0) && !mm_.batch[k].extent.is(1))
        b.dimensions.push_back({mm_.batch[k].extent, view.batch_strides[k], concat("a", mm_.batch[k].id), 'b'});
    return as_tma_view(std::move(b));
  }

  void declare(FunctionText& f, const ProductTile& tile, bool of_left, const char* type, const char* name,
               const std::string& extents) const {
    const Copy& copy = of_left ? left : right;
    const Conversion conversion = conversion_of(copy.stored, tile.arithmetic);
    f.line("typedef gart_matrix<", conversion.name, ", ",
           tile_type(conversion, tile, of_left ? tile.rows : tile.columns, copy.along_depth), ", ", tile.threads(),
           ", ", conversion.vector(copy), "> ", type, ";");
    const Matrix m = *matrix(f, of_left);
    f.line(type, " ", name, "(", m.base, ", ", f.dim(m.line_stride).text, ", ", f.dim(m.depth_stride).text, ", ",
           extents, ", ", int_text(f, depth), ");");
  }

  const MatMulKernel& mm_;
  std::array<std::optional<TmaView>, 2> tma_views_;
};

}  // namespace

std::unique_ptr<Product> matmul_product(const Kernel& kernel) {
  return std::make_unique<MatMulProduct>(kernel, std::get<MatMulKernel>(kernel.body));
}

KernelText emit_matmul(const Kernel& kernel, const Target& target) {
  if (std::get<MatMulKernel>(kernel.body).blocks) return emit_block_product(kernel, target);
  return emit_product(kernel, target, *matmul_product(kernel), "matmul");
}

}  // namespace gcg::cuda
