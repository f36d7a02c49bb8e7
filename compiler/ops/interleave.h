// The attributes of gart.Interleave, for passes that write its inputs in place.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

struct Interleaving {
  std::vector<size_t> axes;
  std::vector<int64_t> steps;  // number of phases along each axis

  int64_t phases() const;
  /// The first position of a phase along each axis.
  std::vector<int64_t> offsets(int64_t phase) const;
};
Interleaving interleaving_of(const Node& gart_interleave);

}  // namespace gcg
