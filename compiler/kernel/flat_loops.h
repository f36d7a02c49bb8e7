// Rewrites accesses to one linear index each, and merges axes that run through memory together.
#pragma once

#include <map>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// Row-major element number of an index into `shape`, simplified by the extents of axes.
Expr linear_index(const std::vector<Expr>& index, const Shape& shape, const std::map<int, Dim>& extents);

/// Rewrites affine loads and the store index to one linear index each. A load with other indices gets one linear index
/// for neighbouring dimensions whose indices are affine, so that axes behind a gathered dimension can be merged.
class FlatIndices {
 public:
  /// `joins_dimensions`: see DeviceTraits. Otherwise only loads whose indices are all affine are rewritten.
  explicit FlatIndices(std::vector<Operand>& operands, bool joins_dimensions = false)
      : operands_(operands), joins_dimensions_(joins_dimensions) {}
  /// `e` with its loads rewritten to linear indices.
  Expr flatten(const Expr& e);
  /// The linear index of an element of operand `o`, whose shape becomes one-dimensional. An index that is not affine is
  /// returned unchanged.
  std::vector<Expr> flatten_store(int o, const std::vector<Expr>& index);

 private:
  /// The number of operand `o`, or of one that views its storage in this shape.
  int view_of(int o, const Shape& shape);

  std::vector<Operand>& operands_;
  bool joins_dimensions_;
};

/// Merges neighbouring `axes` if all flat loads and stores of all expressions run through them at one stride. Drops
/// axes of extent 1. A merged axis gets the id `next_axis`, which is then incremented.
void merge_axes(std::vector<Axis>& axes, const std::vector<Expr*>& expressions, int& next_axis);

/// An id greater than the ids of all axes.
int fresh_axis_id(const LoopKernel& loop);

}  // namespace gcg
