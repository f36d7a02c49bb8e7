// The shared parts of the texts of product loops: the position of a tile, and the use of its sums.
#pragma once

#include <string>

#include "codegen/cuda/contractions/epilogue_text.h"
#include "codegen/cuda/contractions/product.h"

namespace gcg::cuda {

class ProductText {
 public:
  ProductText(const Kernel& kernel, const Product& product, const ProductTile& tile);

 protected:
  /// Declares `row0`, `column0`, `batch` and, for split products, `split` of tile `number`. The column changes fastest,
  /// so that concurrent tiles share rows.
  void coordinates(const std::string& number);
  Dim tile_count() const;
  /// Which constant operand is prefetched before the previous launch ends: 1 left, 2 right, 0 neither. At most `stages`
  /// of its tiles are copied.
  int copy_ahead(int stages);
  /// The number of the first depth step, "0" or a variable, and the number of steps. Split products declare both.
  struct Steps {
    std::string first, count;
  };
  Steps steps(const Dim& all);
  Dim all_steps() const { return ceil_div(p_.depth, Dim(tile_.depth)); }
  /// Applies the epilogue to this thread's sums and stores them.
  void store_results();
  /// Stores the sums in the format that emit_split_sum reads.
  void store_partial_sums();
  KernelText finish(const std::string& kind, int least_blocks) const;

  FunctionText f_;
  const Product& p_;
  const ProductTile& tile_;
  int vector_;  // number of neighbouring sums that a thread stores at once
  EpilogueText epilogue_;
  EvaluationPoint batch_;

 private:
  template <class Body>
  void each_sum(const std::string& row0, const std::string& first, const std::string& end, const Body& body);
  std::string assumed_text() const;
};

bool has_loads(const Expr& e);

}  // namespace gcg::cuda
