// The last stage: writes plans and machine code as artifact bytes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/plan/plan.h"
#include "compiler/weights/weights_section.h"

namespace gcg {

/// A target, and the compiled kernels of all its plans.
struct TargetCode {
  Target target;
  CompiledBlob blob;
};

struct Provenance {
  std::string compiler, source_hash, options, model;
  std::map<std::string, std::string> metadata = {};  // of the model
};

/// The parts of an artifact. The referenced objects must live until emit_artifact returns.
struct ArtifactParts {
  std::vector<const Graph*>
      // Indexed by Plan::entry_point, models before parts; only inputs, outputs, states and constraints are read.
      entries;
  size_t models;                   // the number of entries that callers see
  const std::vector<Plan>& plans;  // plans name `targets` by number; all their constants are in `weights`
  const WeightsSection& weights;
  const std::vector<TargetCode>& targets;
  const std::map<std::string, std::vector<std::string>>& labels;  // as in CompileOptions
  std::vector<uint8_t> assembly;          // the fleet plan (emit_assembly.h); empty: the model has no parts
  std::vector<DimConstraint> pairs = {};  // pairs of extents of the whole model: both are equal, or one of them is 1
};

std::vector<uint8_t> emit_artifact(ArtifactParts parts, const Provenance& provenance);

}  // namespace gcg
