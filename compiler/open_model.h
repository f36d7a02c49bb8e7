// The model for runs in which extents that broadcast differ.
#pragma once

#include <optional>
#include <vector>

#include "compiler/passes/open_broadcasts.h"
#include "compiler/passes/pass.h"

namespace gcg {

/// Plans of the model assume that two open extents that meet in a broadcast are equal. Another plan, which is slower,
/// serves the other runs. That plan has its own graph, because passes rely on equal extents.
class OpenModel {
 public:
  /// `ranked`: the model after the first group of model passes, so ranks are known. Nullopt if no extents may differ,
  /// or if the model cannot be compiled without the assumption.
  static std::optional<OpenModel> make(Graph ranked, const PassOptions& passes);

  /// The graph for all runs, after the model passes.
  const Graph& graph() const { return open_.graph; }
  const std::vector<DimConstraint>& pairs() const { return open_.pairs; }

  /// False if an output of graph() has an extent that plans of `graph` only learn during the run.
  bool fits(const Graph& graph) const;
  /// The facts that a plan of `graph` with these extents needs in addition to the facts of graph().
  std::vector<DimConstraint> assumed(const Graph& graph, const SymbolValues& fixed) const;
  /// True if plans of these extents cannot treat a pair as equal, because one of its extents is fixed to 1.
  bool broadcasts_with(const SymbolValues& fixed) const;
  /// The graph for these extents, after the model passes.
  Graph specialised(const SymbolValues& fixed, const PassOptions& passes) const;

 private:
  Graph ranked_;
  OpenBroadcasts open_;
};

}  // namespace gcg
