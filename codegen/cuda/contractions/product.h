// Contractions as matrix products: what matmul.cpp and conv.cpp say about their operands, and product.cpp makes kernels
// of.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "codegen/cuda/contractions/product_cost.h"
#include "codegen/cuda/text/expr_text.h"

namespace gcg::cuda {

/// What becomes of a contraction's sums.
struct Epilogue {
  Expr epilogue;            // over the axes of rows, columns and batch, and `accumulator`
  int result = -1;          // operand written
  std::vector<Expr> index;  // where
  /// The axis along which neighbouring columns are neighbours in memory, if results may be stored `vector` at once; the
  /// first of them is a multiple of that.
  int lane = -1;
  int vector = 1;
};

/// result[index] = epilogue(sum over k of left[row, k] * right[k, column]), for every product of a batch.
class Product : public Epilogue {
 public:
  /// How tiles of an operand are copied.
  struct Copy {
    bool along_depth = true;    // the direction in which neighbouring threads copy, and lines run in shared memory
    DType stored = DType::f32;  // or f16, bf16
    int vector = 1;             // elements that may be read at once, of at most 16 bytes: 1, 2, 4 or 8
  };

  virtual ~Product() = default;
  Dim batch = 1, rows, columns, depth;
  Copy left, right;
  int left_operand = -1, right_operand = -1;  // of the kernel
  /// What the time depends on beyond the extents and copies: "3x3, strides 2x2"; may be empty.
  std::string form;
  /// > 0: depths that a tile should not cross.
  int64_t whole_steps = 0;
  int64_t taps = 1;          // of a convolution
  int64_t tap_channels = 0;  // > 0: of each tap, of which every tile of boxes has 64 at most
  bool divides = false;      // places of elements need divisions
  bool gathers = false;      // each line that a thread copies has a place of its own, in registers

  /// An operand as a strided matrix, where it is one: element (line, k) lies base[line * line_stride + k *
  /// depth_stride].
  struct Matrix {
    std::string base;
    Dim line_stride, depth_stride;
  };
  virtual std::optional<Matrix> matrix(FunctionText& f, bool of_left) const = 0;
  /// An operand as a tensor that TMA copies tiles of, where it is one.
  struct TmaView {
    /// Of images (channels, columns, rows, images): a line for each place of a convolution's window, with up to 64
    /// channels of a tap.
    struct Window {
      int64_t channels = 0;
      int64_t kernel_columns = 1, column_dilation = 1, row_dilation = 1;
      std::vector<int> steps;         // strides, as many as dimensions
      std::vector<int> lower, upper;  // of the window's corner, as compiler/kernel/backend.h says
    };
    struct Dimension {
      Dim extent, stride;
      std::string at;  // where the block's tile begins in depth 0
      char kind;       // 'r': rows of the left operand or columns of the right one, 'd': depth, 'b': batch; of results:
                       // 'c': columns, 'r': rows, 'b'
    };
    int operand = -1;
    DType stored = DType::f16;
    Dim offset;
    std::vector<Dimension> dimensions;
    std::optional<Window> window = std::nullopt;
  };
  virtual std::optional<TmaView> tma_view(bool) const { return std::nullopt; }
  /// Declares, of views of windows, where that of the tile's first place begins: `window_column`, `window_row`,
  /// `image`.
  virtual void declare_window(FunctionText&) const {}
  /// How results leave, and what the epilogue reads comes, in boxes: `at` are those of a box that begins at
  /// `box_column` and `box_row`.
  struct ResultBoxes {
    TmaView results;
    const ExprNode* read = nullptr;  // a load whose elements lie as the results do; may be null
    TmaView read_view;
  };
  std::optional<ResultBoxes> boxes;
  /// Declares types Left and Right (copies of `tile.rows` and `tile.columns` by `tile.depth`) and objects left and
  /// right of them. In scope: int `row0`, `column0`.
  virtual void declare_operands(FunctionText& f, const ProductTile& tile) const = 0;
  /// Declares the axes that number the products of the batch. In scope: int `batch`. What follows relies on them.
  virtual void declare_batch(FunctionText& f, EvaluationPoint& place) const = 0;
  /// Declares the epilogue's axes that depend on the row and not on the column. In scope: `batch`, `row`.
  virtual void declare_row(FunctionText& f, EvaluationPoint& place) const = 0;
  /// Declares those that do. In scope: `batch`, `row`, `column`.
  virtual void declare_column(FunctionText& f, EvaluationPoint& place) const = 0;
};

/// How an operand's elements become those of its tiles (device/gart_operand.cuh).
struct Conversion {
  std::string name;     // "gart_narrowed_f16"
  std::string element;  // of the tile: "unsigned short"
  bool is_kept = true;
  int vector(const Product::Copy& copy) const { return is_kept ? copy.vector : copy.vector < 4 ? 1 : 4; }
};
/// For tiles of the arithmetic's elements.
Conversion conversion_of(DType stored, Arithmetic arithmetic);
ProductForm form_of(const Product& product, const Target& target);
/// What of it shared memory depends on.
ProductForm memory_form(const Product& product);
/// "gart_tile<float, 64, 32, true>", "..., 64, 32" being the shape.
std::string tile_type(const Conversion& conversion, const std::string& shape, bool along_depth);
/// That of an operand of a product: `rows` are rows of the left, columns of the right one.
std::string tile_type(const Conversion& conversion, const ProductTile& tile, int rows, bool along_depth);
/// The most elements of 16 bytes at once at which accesses through all of these strides and offsets, in elements, are
/// aligned.
int widest_vector(DType stored, const std::vector<Dim>& multiples);

/// The product of a kernel whose body is a MatMulKernel or a PlainConvKernel. `kernel` must outlive it.
std::unique_ptr<Product> matmul_product(const Kernel& kernel);
std::unique_ptr<Product> conv_product(const Kernel& kernel);

/// The channels of a tap that boxes of 64 depths make of `tap_channels`.
inline int64_t box_channels(const Product& product) { return (product.tap_channels + 63) / 64 * 64; }

/// What the cost model goes by; open extents count as typical ones.
ProductSize size_for_cost(const Kernel& kernel, const Product& product);
/// Brings the dimensions in the order of a tensor map, the contiguous one first; null if TMA would not take the tensor
/// for some value of the symbols.
std::optional<Product::TmaView> as_tma_view(Product::TmaView view);
/// Axes that number a product's columns, rows and products of the batch, outermost first.
struct ResultAxes {
  std::vector<Axis> columns, rows, batch;
};
/// Null where results have to be stored by threads: another order, odd pitches, other types.
std::optional<Product::ResultBoxes> find_result_boxes(const Kernel& kernel, const Epilogue& product,
                                                      const ResultAxes& axes);

/// Registers of a thread of the feeding warpgroup, and of each of those that multiply.
struct SharedRegisters {
  int few = 0, many = 0;
  int at_entry = 0;   // at least, with which the kernel starts
  int splitting = 0;  // of a thread that makes rests (device/gart_f32_loop.cuh)
};
SharedRegisters shared_registers(const ProductTile& tile);
/// A product's operands as tiles that are copied as boxes (device/gart_tile_loop.cuh). Declares the types Left and
/// Right.
class TiledOperands {
 public:
  TiledOperands(FunctionText& f, const Product& product, const ProductTile& tile);
  /// Declares objects left and right of them. In scope: `row0`, `column0`, the axes of the batch.
  void declare(FunctionText& f) const;
  std::vector<std::string> maps() const { return {left_map_, right_map_}; }

 private:
  const Product& product_;
  Product::TmaView left_, right_;
  std::string left_map_, right_map_;
};
/// The map of boxes of results.
std::string result_map(FunctionText& f, const Product::TmaView& view);
/// The boxes' coordinates, "{box_column, box_row}".
std::string places(const Product::TmaView& view);

/// The extents "12 of 128 x 64 x 384" (rows, columns, depth), how operands are copied, the form.
std::string shape_text(const Product& product);

/// The launches that compute it in tiles. `kind` begins the functions' names.
KernelText emit_product(const Kernel& kernel, const Product& product, const ProductTile& tile, const std::string& kind);
/// Of these, one whose operands and results are copied as boxes, tile after tile (device/gart_tile_loop.cuh).
KernelText emit_tile_loop(const Kernel& kernel, const Product& product, const ProductTile& tile,
                          const std::string& kind);
/// The same with the tile that the target's decisions name, or the cost model likes best.
KernelText emit_product(const Kernel& kernel, const Target& target, const Product& product, const std::string& kind);

/// Adds the partial sums workspace[split][batch][row][column] of all splits, in order, and applies the epilogue.
KernelText emit_split_sum(const Kernel& kernel, const Product& product, int splits, const std::string& kind);

/// Products in which one operand is skinny: few lines (rows of the left, columns of the right one), which no tile is
/// made for; null text (no source) if this is none.
KernelText emit_skinny_gemm(const Kernel& kernel, const Target& target, const Product& product,
                            const std::string& kind);

/// The largest of 4, 2, 1 columns whose results and operands of the epilogue may be stored and loaded at once along
/// `lane`.
int epilogue_vector(const Kernel& kernel, const Epilogue& epilogue, const Dim& columns, int lane);

/// A Dim as an int. Rows, columns and depths are below 2^31: beyond that a matrix of one column is 8 GiB.
std::string int_text(FunctionText& f, const Dim& dim);
/// "const int a7 = ..." with the type that index arithmetic gives the axis.
void declare_axis(FunctionText& f, EvaluationPoint& place, const Axis& axis, const std::string& text);

}  // namespace gcg::cuda
