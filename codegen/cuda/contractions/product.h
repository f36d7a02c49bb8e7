// Contractions as matrix products: matmul.cpp and conv.cpp describe the operands, and emit_product.cpp makes the
// kernels.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "codegen/cuda/contractions/product_cost.h"
#include "codegen/cuda/text/expr_text.h"

namespace gcg::cuda {

/// How a contraction turns its sums into results.
struct Epilogue {
  Expr epilogue;            // an expression over the axes of rows, columns and batch, and `accumulator`
  int result = -1;          // the operand that is written
  std::vector<Expr> index;  // where the result is written
  /// The axis along which neighbouring columns are neighbours in memory, if `vector` results may be stored at once. The
  /// first of these columns is a multiple of `vector`.
  int lane = -1;
  int vector = 1;
};

/// result[index] = epilogue(sum over k of left[row, k] * right[k, column]), for every product of a batch.
class Product : public Epilogue {
 public:
  /// How tiles of an operand are copied.
  struct Copy {
    // True if neighbouring threads copy along the depth, and lines in shared memory run along it.
    bool along_depth = true;
    DType stored = DType::f32;  // element type in memory: f32, f16 or bf16
    int vector = 1;             // elements per access, of at most 16 bytes: 1, 2, 4 or 8
  };

  virtual ~Product() = default;
  Dim batch = 1, rows, columns, depth;
  Copy left, right;
  int left_operand = -1, right_operand = -1;  // numbers of operands of the kernel
  /// Properties beyond extents and copies that the time depends on: "3x3, strides 2x2"; may be empty.
  std::string properties;
  /// If above 0: a tile should not cross a multiple of this many depths.
  int64_t whole_steps = 0;
  int64_t taps = 1;          // of a convolution
  int64_t tap_channels = 0;  // channels of each tap if tiles can be copied as boxes of channels; otherwise 0
  bool divides = false;      // True if finding an element takes divisions
  bool gathers = false;      // True if each thread keeps the address of every line that it copies in registers

  /// An operand as a strided matrix, if it is one: element (line, k) is base[line * line_stride + k * depth_stride].
  struct Matrix {
    std::string base;
    Dim line_stride, depth_stride;
  };
  virtual std::optional<Matrix> matrix(FunctionText& f, bool of_left) const = 0;
  /// An operand as a tensor whose tiles TMA copies, if it is one.
  struct TmaView {
    /// The windows of a convolution over images (channels, columns, rows, images): one line per window position, with
    /// up to box_depths channels of a tap.
    struct Window {
      int64_t channels = 0;
      int64_t kernel_columns = 1, column_dilation = 1, row_dilation = 1;
      std::vector<int> steps;         // strides of the window, one per dimension
      std::vector<int> lower, upper;  // the window's corners, as compiler/kernel/backend.h defines them
    };
    struct Dimension {
      Dim extent, stride;
      std::string at;  // the coordinate, in this dimension, of the tile's first element at depth 0
      char kind;       // 'r': rows of the left operand or columns of the right one, 'd': depth, 'b': batch; for
                       // results: 'c': columns, 'r': rows, 'b': batch
    };
    int operand = -1;
    DType stored = DType::f16;
    Dim offset;
    std::vector<Dimension> dimensions;
    std::optional<Window> window = std::nullopt;
  };
  virtual std::optional<TmaView> tma_view(bool) const { return std::nullopt; }
  /// For views of windows: declares `window_column`, `window_row` and `image`, the start of the window of the tile's
  /// first position.
  virtual void declare_window(FunctionText&) const {}
  /// How results are stored, and inputs of the epilogue are loaded, as boxes. `at` gives the coordinates of the box
  /// that starts at `box_column` and `box_row`.
  struct ResultBoxes {
    TmaView results;
    const ExprNode* read = nullptr;  // a load whose elements have the layout of the results; may be null
    TmaView read_view;
  };
  std::optional<ResultBoxes> boxes;
  /// Declares types Left and Right (copies of `tile.rows` and `tile.columns` by `tile.depth`) and objects `left` and
  /// `right` of these types. In scope: int `row0`, `column0`.
  virtual void declare_operands(FunctionText& f, const ProductTile& tile) const = 0;
  /// Declares the axes that number the products of the batch; the later calls rely on them. In scope: int `batch`.
  virtual void declare_batch(FunctionText& f, EvaluationPoint& place) const = 0;
  /// Declares the epilogue's axes that depend on the row and not on the column. In scope: `batch`, `row`.
  virtual void declare_row(FunctionText& f, EvaluationPoint& place) const = 0;
  /// Declares the epilogue's axes that depend on the column. In scope: `batch`, `row`, `column`.
  virtual void declare_column(FunctionText& f, EvaluationPoint& place) const = 0;
};

/// How an operand's elements are converted on their way into a tile (device/gart_operand.cuh).
struct Conversion {
  std::string name;     // "gart_narrowed_f16"
  std::string element;  // element type of the tile: "unsigned short"
  bool is_kept = true;
  int vector(const Product::Copy& copy) const { return is_kept ? copy.vector : copy.vector < 4 ? 1 : 4; }
};
/// The conversion to the arithmetic's element type.
Conversion conversion_of(DType stored, Arithmetic arithmetic);
TileConstraints constraints_of(const Product& product, const Target& target);
/// The properties of the product that its shared memory depends on.
TileConstraints memory_constraints(const Product& product);
/// "gart_tile<float, 64, 32, true>", where `shape` is "64, 32".
std::string tile_type(const Conversion& conversion, const std::string& shape, bool along_depth);
/// The tile type of a product's operand. `rows` means rows of the left operand, or columns of the right one.
std::string tile_type(const Conversion& conversion, const ProductTile& tile, int rows, bool along_depth);
/// The largest number of elements per access, of at most 16 bytes, for which all these strides and offsets (in
/// elements) are aligned.
int widest_vector(DType stored, const std::vector<Dim>& multiples);

/// The product of a kernel whose body is a MatMulKernel or a PlainConvKernel. `kernel` must outlive it.
std::unique_ptr<Product> matmul_product(const Kernel& kernel);
std::unique_ptr<Product> conv_product(const Kernel& kernel);

/// The depth of a box of an operand, whose lines have 128 bytes.
inline int box_depths(DType stored) { return 128 / static_cast<int>(size_of(stored)); }
/// The number of channels per tap after padding `tap_channels` to whole boxes.
inline int64_t box_channels(const Product& product) {
  const int depths = box_depths(product.left.stored);
  return (product.tap_channels + depths - 1) / depths * depths;
}

/// The sizes that the cost model uses; symbolic extents count as typical ones.
ProductSize size_for_cost(const Kernel& kernel, const Product& product);
/// Sorts the dimensions for a tensor map, the contiguous one first. Null if TMA would reject the tensor for some value
/// of the symbols.
std::optional<Product::TmaView> as_tma_view(Product::TmaView view);
/// The axes that number a product's columns, rows and batch, outermost first.
struct ResultAxes {
  std::vector<Axis> columns, rows, batch;
};
/// Null if threads have to store the results, because their order, pitch or type does not fit.
std::optional<Product::ResultBoxes> find_result_boxes(const Kernel& kernel, const Epilogue& product,
                                                      const ResultAxes& axes);

/// Registers per thread of the feeding warpgroup, and of each multiplying warpgroup.
struct SharedRegisters {
  int few = 0, many = 0;
  int at_entry = 0;   // the least number of registers, with which the kernel starts
  int splitting = 0;  // registers of a thread that computes the low parts of factors (device/gart_f32_loop.cuh)
};
SharedRegisters shared_registers(const ProductTile& tile);
/// A product's operands as tiles that are copied as boxes (device/gart_tile_loop.cuh). Declares the types Left and
/// Right.
class TiledOperands {
 public:
  TiledOperands(FunctionText& f, const Product& product, const ProductTile& tile);
  /// Declares objects `left` and `right` of these types. In scope: `row0`, `column0`, the axes of the batch.
  void declare(FunctionText& f) const;
  std::vector<std::string> maps() const { return {left_map_, right_map_}; }

 private:
  const Product& product_;
  Product::TmaView left_, right_;
  std::string left_map_, right_map_;
};
/// The tensor map for boxes of results.
std::string result_map(FunctionText& f, const Product::TmaView& view);
/// The coordinates of a box: "{box_column, box_row}".
std::string places(const Product::TmaView& view);

/// A description for decisions: the extents "12 of 128 x 64 x 384" (rows, columns, depth), the copies, the other
/// properties.
std::string shape_text(const Product& product);

/// The launches that compute the product in tiles. `kind` begins the functions' names.
KernelText emit_product(const Kernel& kernel, const Product& product, const ProductTile& tile, const std::string& kind);
/// The persistent variant: operands and results are copied as boxes, one tile after the other
/// (device/gart_tile_loop.cuh).
KernelText emit_tile_loop(const Kernel& kernel, const Product& product, const ProductTile& tile,
                          const std::string& kind);
/// Emits the product with the tile that the target's decisions name, or else the cost model's best tile.
KernelText emit_product(const Kernel& kernel, const Target& target, const Product& product, const std::string& kind);

/// The second launch of split-K: adds the partial sums workspace[split][batch][row][column] of all splits, in order,
/// and applies the epilogue.
KernelText emit_split_sum(const Kernel& kernel, const Product& product, int splits, const std::string& kind);

/// Products with a skinny operand, which has fewer lines than any tile. Lines are rows of the left operand and columns
/// of the right one.
/// Returns a text without source if the product is not skinny.
KernelText emit_skinny_gemm(const Kernel& kernel, const Target& target, const Product& product,
                            const std::string& kind);

/// The largest of 4, 2 and 1 such that this many columns may be stored and loaded at once along `lane`, in results and
/// operands of the epilogue.
int epilogue_vector(const Kernel& kernel, const Epilogue& epilogue, const Dim& columns, int lane);

/// A Dim as an int. Rows, columns and depths are below 2^31: a matrix of one column with more rows exceeds 8 GiB.
std::string int_text(FunctionText& f, const Dim& dim);
/// Declares "const int a7 = ..." with the axis's type in index arithmetic.
void declare_axis(FunctionText& f, EvaluationPoint& place, const Axis& axis, const std::string& text);

}  // namespace gcg::cuda
