// What the texts of a product's loops have in common: where a tile lies, and what becomes of its sums.
#pragma once

#include <string>

#include "codegen/cuda/contractions/epilogue_text.h"
#include "codegen/cuda/contractions/product.h"

namespace gcg::cuda {

class ProductText {
 public:
  ProductText(const Kernel& kernel, const Product& product, const ProductTile& tile);

 protected:
  /// Declares `row0`, `column0`, `batch` and, of a product in splits, `split` of the tile of this number. Tiles that
  /// are computed at the same time share rows, and the columns one after the other.
  void coordinates(const std::string& number);
  Dim tile_count() const;
  /// Which operand, a constant, is copied before the last launch has ended, `stages` tiles of it at most: 1 the left, 2
  /// the right one, 0 neither.
  int copy_ahead(int stages);
  /// The number of the first step of depths, "0" or a variable, and how many there are. Declares them for splits.
  struct Steps {
    std::string first, count;
  };
  Steps steps(const Dim& all);
  Dim all_steps() const { return ceil_div(p_.depth, Dim(tile_.depth)); }
  /// Applies the epilogue to this thread's sums and stores them.
  void store_results();
  /// As emit_split_sum reads it.
  void store_partial_sums();
  KernelText finish(const std::string& kind, int least_blocks) const;

  FunctionText f_;
  const Product& p_;
  const ProductTile& tile_;
  int vector_;  // neighbouring sums of a thread that are stored at once
  EpilogueText epilogue_;
  EvaluationPoint batch_;

 private:
  template <class Body>
  void each_sum(const std::string& row0, const std::string& first, const std::string& end, const Body& body);
  std::string assumed_text() const;
};

bool has_loads(const Expr& e);

}  // namespace gcg::cuda
