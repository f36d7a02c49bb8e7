// Accesses by one linear index each, and axes that run through memory together as one.
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
  /// All loads of `e` that are affine, by linear index.
  Expr flatten(const Expr& e);
  /// The linear index of an element of operand `o`, whose shape becomes one-dimensional; the index as it is if not
  /// affine.
  std::vector<Expr> flatten_store(int o, const std::vector<Expr>& index);

 private:
  std::vector<Operand>& operands_;
};

/// Merges neighbours of `axes` where all flat loads and stores of all expressions run through them at one stride, and
/// drops those of extent 1. A merged axis is a new one, with the number `next_axis`, which is raised.
void merge_axes(std::vector<Axis>& axes, const std::vector<Expr*>& expressions, int& next_axis);

/// Above those of all axes.
int fresh_axis_id(const LoopKernel& loop);

}  // namespace gcg
