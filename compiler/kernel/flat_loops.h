// Rewrites accesses to one linear index each, and merges axes that run through memory together.
#pragma once

#include <map>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// Row-major element number of an index into `shape`, simplified by the extents of axes.
Expr linear_index(const std::vector<Expr>& index, const Shape& shape, const std::map<int, Dim>& extents);

/// Rewrites affine loads and the store index to one linear index each. Operands that are still loaded by several
/// indices keep their shape.
class FlatIndices {
 public:
  explicit FlatIndices(std::vector<Operand>& operands) : operands_(operands) {}
  /// `e` with its affine loads rewritten to a linear index.
  Expr flatten(const Expr& e);
  /// The linear index of an element of operand `o`, whose shape becomes one-dimensional. An index that is not affine is
  /// returned unchanged.
  std::vector<Expr> flatten_store(int o, const std::vector<Expr>& index);

 private:
  std::vector<Operand>& operands_;
};

/// Merges neighbouring `axes` if all flat loads and stores of all expressions run through them at one stride. Drops
/// axes of extent 1. A merged axis gets the id `next_axis`, which is then incremented.
void merge_axes(std::vector<Axis>& axes, const std::vector<Expr*>& expressions, int& next_axis);

/// An id greater than the ids of all axes.
int fresh_axis_id(const LoopKernel& loop);

}  // namespace gcg
