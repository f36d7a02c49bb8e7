// What gart.Interleave does, for those who write its parts in place.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

struct Interleaving {
  std::vector<size_t> axes;
  std::vector<int64_t> steps;  // phases along each

  int64_t phases() const;
  /// Where along each axis the elements of a phase begin.
  std::vector<int64_t> offsets(int64_t phase) const;
};
Interleaving interleaving_of(const Node& gart_interleave);

}  // namespace gcg
