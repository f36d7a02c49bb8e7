// Makes a graph for runs in which extents that the model leaves open broadcast.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// A graph that is correct for every pair of extents that ONNX lets broadcast.
struct OpenBroadcasts {
  Graph graph;
  /// In each run both extents are equal, or one of them is 1.
  std::vector<DimConstraint> pairs;
};

/// Inference assumes that two open extents in a broadcast are equal, because kernels that choose at run time would lose
/// vectorisation and fusion for a rare case. This makes the graph for the runs where they differ: each operand goes
/// through a gart.Stretch to the extent of the result. Nullopt if no operator joins two extents that may differ.
/// Requires: types are inferred; no pass has used them yet.
/// Ensures: types are inferred. Extents of subgraphs, and extents that depend on data, are still assumed to be equal.
/// Before: all passes.
/// Example: Add(x[n], y[m]) -> Add(gart.Stretch(x), gart.Stretch(y)), each [max(n, m) * min(n, m, 1)]
std::optional<OpenBroadcasts> open_broadcasts(const Graph& graph);

}  // namespace gcg
