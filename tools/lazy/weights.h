// Matrices that stay while products read them run after run: kept packed beside the value, as a file keeps its weights.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/lazy/cut.h"
#include "tools/lazy/pattern.h"

namespace gcc_graph::lazy {

/// A right operand of products: a value that is given, or its transpose.
struct Weight {
  uint32_t position = 0;  // in the cut
  bool is_transposed = false;

  friend bool operator==(const Weight&, const Weight&) = default;
  int64_t rows(const Type& matrix) const { return matrix.shape()[is_transposed ? 1 : 0]; }
  int64_t columns(const Type& matrix) const { return matrix.shape()[is_transposed ? 0 : 1]; }
  /// f32[ceil(columns/48), rows, 48]
  const Type* panels_type(const Type& matrix) const;
};

/// What a matrix product of a cut reads on its right, if that may be packed: at least 4096 elements of f32.
std::optional<Weight> weight_of(const Node& product);

/// Each once, of fixed extents.
std::vector<Weight> weights_of(const Cut& cut, const Pattern& pattern);

/// Counts a run that reads them.
void count_readings(const Cut& cut, const std::vector<Weight>& weights);
/// So many readings that it pays to pack it.
bool is_lasting(const Cut& cut, const Weight& weight);
/// Packed now if it is not yet. They belong to the value. Throws Error where there is no memory.
const Buffer& panels_of(const Cut& cut, const Weight& weight);

}  // namespace gcc_graph::lazy
