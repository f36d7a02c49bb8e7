// Contractions as matrix products: what matmul.cpp and conv.cpp say about their operands, and product.cpp makes kernels of.
#pragma once

#include <string>

#include "codegen/cuda/expr_text.h"
#include "codegen/cuda/product_cost.h"

namespace gcg::cuda {

/// result[index] = epilogue(sum over k of left[row, k] * right[k, column]), for every product of a batch.
class Product {
 public:
  /// How tiles of an operand are copied.
  struct Copy {
    bool along_depth = true;  // the direction in which neighbouring threads copy, and lines run in shared memory
    int vector = 1;           // floats at once: 4 or 1
  };

  virtual ~Product() = default;
  Dim batch = 1, rows, columns, depth;
  Copy left, right;
  /// > 0: depths that a tile should not cross.
  int64_t whole_steps = 0;
  Expr epilogue;
  int result = -1;
  std::vector<Expr> index;
  /// The axis along which neighbouring columns are neighbours in memory, if results may be stored `vector` at once; the
  /// first of them is a multiple of that.
  int lane = -1;
  int vector = 1;

  /// Declares types Left and Right (copies of `tile.rows` and `tile.columns` by `tile.depth`) and objects left and right of
  /// them. In scope: int `batch`, `row0`, `column0`.
  virtual void declare_operands(FunctionText& f, const ProductTile& tile) const = 0;
  /// Declares the epilogue's axes that do not depend on the column. In scope: `batch`, `row`.
  virtual void declare_row(FunctionText& f, Place& place) const = 0;
  /// Declares those that do. In scope: `batch`, `row`, `column`.
  virtual void declare_column(FunctionText& f, Place& place) const = 0;
};

/// The launches that compute it. `kind` begins the functions' names.
KernelText emit_product(const Kernel& kernel, const Target& target, const Product& product, const std::string& kind);

/// The largest of 4, 2, 1 columns whose results and operands of the epilogue may be stored and loaded at once along `lane`.
int product_vector(const Kernel& kernel, const Product& product, int lane);

/// A Dim as an int. Rows, columns and depths are below 2^31: beyond that a matrix of one column is 8 GiB.
std::string int_text(FunctionText& f, const Dim& dim);
/// "const int a7 = ..." with the type that index arithmetic gives the axis.
void declare_axis(FunctionText& f, Place& place, const Axis& axis, const std::string& text);

}  // namespace gcg::cuda
