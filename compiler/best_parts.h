// Chooses the cut of a model by the predicted time of a run.
#pragma once

#include <vector>

#include "compiler/parts.h"
#include "compiler/passes/pass.h"

namespace gcg {

/// The arguments for take_apart and for planning the parts. `sets`: the extents that the model is compiled for.
struct PartsRequest {
  const Graph& model;
  size_t model_outputs = 0;
  const Fleet& fleet;
  const CutOptions& cut;
  const NodeRequests& requests;
  const std::vector<Target>& targets;
  const std::vector<SymbolValues>& sets;
  const PassOptions& passes;
};

/// The parts of the cut whose placement is predicted to be fastest. If the user asks for rules, these make the cut.
/// Otherwise, the first candidates are the fleet's default rules and chains. The next candidate is the better of these
/// two, with its groups joined where one device runs them (CutOptions::placed). The last one also divides the joined
/// groups, so that each starts as soon as its first inputs are ready. A cut that is not the default must promise a gain
/// of 1 %, unless it has fewer groups. Models of more than a few thousand nodes are cut by the default rules alone.
PartedModel best_parts(const PartsRequest& request);

}  // namespace gcg
