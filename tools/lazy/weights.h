// Matrices that products read in many runs. Their packed form is kept in addition to the value, like packed weights in
// a file.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/lazy/cut.h"
#include "tools/lazy/pattern.h"

namespace gcc_graph::lazy {

/// The right operand of products: an evaluated value, or its transpose.
struct Weight {
  uint32_t position = 0;  // position in the cut
  bool is_transposed = false;

  friend bool operator==(const Weight&, const Weight&) = default;
  int64_t rows(const Type& matrix) const { return matrix.shape()[is_transposed ? 1 : 0]; }
  int64_t columns(const Type& matrix) const { return matrix.shape()[is_transposed ? 0 : 1]; }
  /// f32[ceil(columns/48), rows, 48]
  const Type* panels_type(const Type& matrix) const;
};

/// The right operand of a matrix product, if it may be packed: f32 with at least 4096 elements.
std::optional<Weight> weight_of(const Node& product);

/// The cut's weights with fixed extents, each once.
std::vector<Weight> weights_of(const Cut& cut, const Pattern& pattern);

/// Counts one run that reads these weights.
void count_readings(const Cut& cut, const std::vector<Weight>& weights);
/// True if enough runs have read the weight for packing to be worth its time.
bool is_lasting(const Cut& cut, const Weight& weight);
/// Packs the weight if it is not packed yet. The value owns the panels. Throws Error if no memory is available.
const Buffer& panels_of(const Cut& cut, const Weight& weight);

}  // namespace gcc_graph::lazy
