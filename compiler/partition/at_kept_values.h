// Divides groups at kept values: a part ends at each value that may be fetched.
#pragma once

#include <vector>

#include "compiler/partition/cut.h"

namespace gcg {

/// The nodes of one call.
struct GroupPiece {
  int group = 0;  // its group in the cut
  std::vector<NodeId> nodes;
};

/// Divides groups so that every kept value needs whole pieces: all nodes of a piece are needed for the same kept
/// values. Pieces are in a valid execution order.
std::vector<GroupPiece> at_kept_values(const Graph& graph, const Cut& cut, const std::vector<ValueId>& kept_values);

}  // namespace gcg
