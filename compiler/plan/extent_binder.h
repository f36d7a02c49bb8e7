// Writes the nodes that give symbols their values during a run: what bind_extents does to one graph and the bodies in
// it.
#pragma once

#include <set>
#include <string>

#include "compiler/ir/graph.h"

namespace gcg {

/// Of a Loop: the symbols that get the values of its last carried numbers at the end of each iteration, in their order.
constexpr const char* kRebindsAttribute = "gart.rebinds";

/// An If whose result has an extent s that differs by branch: each branch ends with gart.Bind(its extent; s).
///
/// A Loop that carries a value whose extent c changes carries the extent beside it, as a number:
///   gart.Bind(n; c), gart.WithExtents(value)          before the Loop, n the extent that the value begins with
///   body: gart.Bind(m; c_next), gart.WithExtents(value)   m the extent that the iteration gives it; carried: value, m
///   at the iteration's end c becomes m (make_control.cpp does that: nothing of the iteration may see it)
///   gart.Bind(last m; s), gart.WithExtents(value)     after the Loop, s the symbol of the result's extent
class ExtentBinder {
 public:
  explicit ExtentBinder(Graph& graph) : graph_(graph) {}
  void run();

 private:
  /// Dimension `dim` of carried value `value` changes; its extent is `symbol` inside the body.
  struct OpenDim {
    size_t value, dim;
    std::string symbol;
    ValueId last;  // the number after the Loop
  };

  void bind_results(NodeId id);
  void bind_branches(NodeId id);
  void bind_states(NodeId id);
  std::vector<OpenDim> open_dims(const Node& loop) const;
  void carry_number(NodeId id, OpenDim& open);
  void rename_results(NodeId id, const std::vector<OpenDim>& open);
  static ValueId add_number(Graph& graph, Node node, const std::string& name);
  /// x as gart.WithExtents.
  static ValueId renamed(Graph& graph, const std::string& name, ValueId x, const Shape& extents);
  static void bind(Graph& graph, const std::string& name, const std::string& symbol, const Dim& to);

  Graph& graph_;
};

}  // namespace gcg
