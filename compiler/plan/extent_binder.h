// Writes the nodes that assign symbols during a run: implements bind_extents for one graph and its subgraphs.
#pragma once

#include <set>
#include <string>

#include "compiler/ir/graph.h"

namespace gcg {

/// Attribute of a Loop: symbols that take new values at the end of each iteration, in order. The values are the loop's
/// last carried numbers.
constexpr const char* kRebindsAttribute = "gart.rebinds";

/// If: if a result has an extent s that differs between branches, each branch ends with gart.Bind(its extent; s).
///
/// Loop: if the extent c of a carried value changes, the loop also carries the extent, as a number:
///   gart.Bind(n; c), gart.WithExtents(value)          before the Loop; n is the initial extent of the value
///   body: gart.Bind(m; c_next), gart.WithExtents(value)   m is the extent in the next iteration; carried: value, m
///   at the end of the iteration c becomes m (in make_control.cpp, after the last use of c in the iteration)
///   gart.Bind(last m; s), gart.WithExtents(value)     after the Loop; s is the symbol of the result's extent
class ExtentBinder {
 public:
  explicit ExtentBinder(Graph& graph) : graph_(graph) {}
  void run();

 private:
  /// Dimension `dim` of carried value `value` changes between iterations; `symbol` is its extent inside the subgraph.
  struct OpenDim {
    size_t value, dim;
    std::string symbol;
    ValueId last;  // the extent after the Loop, as a number
  };

  void bind_results(NodeId id);
  void bind_branches(NodeId id);
  void bind_states(NodeId id);
  std::vector<OpenDim> open_dims(const Node& loop) const;
  void carry_number(NodeId id, OpenDim& open);
  void rename_results(NodeId id, const std::vector<OpenDim>& open);
  static ValueId add_number(Graph& graph, Node node, const std::string& name);
  /// Returns `x`, with other symbols as extents, through gart.WithExtents.
  static ValueId renamed(Graph& graph, const std::string& name, ValueId x, const Shape& extents);
  static void bind(Graph& graph, const std::string& name, const std::string& symbol, const Dim& to);

  Graph& graph_;
};

}  // namespace gcg
