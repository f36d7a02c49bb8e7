// Chooses the cut of a model by the predicted time of a run.
#pragma once

#include <vector>

#include "compiler/parts.h"
#include "compiler/passes/pass.h"

namespace gcg {

/// The arguments of take_apart, and those of planning parts: `sets` are the extents that the model is compiled for.
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
/// Otherwise, the candidates are the fleet's default rules and chains; then the better one with its groups joined where
/// one device runs them (CutOptions::placed); then this one with groups divided, so that they start as early as their
/// first inputs are there. Another cut than the default must promise a gain of 1 %, except one with fewer groups.
/// Models of more than a few thousand nodes are cut by the default rules alone.
PartedModel best_parts(const PartsRequest& request);

}  // namespace gcg
