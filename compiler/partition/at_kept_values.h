// A value that may be fetched ends a part.
#pragma once

#include <vector>

#include "compiler/partition/cut.h"

namespace gcg {

/// What becomes a call of its own.
struct GroupPiece {
  int group = 0;  // of the cut
  std::vector<NodeId> nodes;
};

/// Divides groups so that every kept value needs pieces as a whole: nodes of a piece are needed by the same kept
/// values. Pieces stand in an order that runs.
std::vector<GroupPiece> at_kept_values(const Graph& graph, const Cut& cut, const std::vector<ValueId>& kept);

}  // namespace gcg
