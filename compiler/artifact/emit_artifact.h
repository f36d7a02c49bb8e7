// The last stage: plans and machine code as artifact bytes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/plan/plan.h"
#include "compiler/weights/weights_section.h"

namespace gcg {

/// A target and the kernels of all its plans, compiled for it.
struct TargetCode {
  Target target;
  CompiledBlob blob;
};

struct Provenance {
  std::string compiler, source_hash, options, model;
  std::map<std::string, std::string> metadata = {};  // of the model
};

/// `graph` is the imported one: its inputs, outputs and constraints become the entry point. `plans`: for these targets,
/// by number; all their constants are in `weights`. `labels` as in CompileOptions.
std::vector<uint8_t> emit_artifact(const Graph& graph, const std::vector<Plan>& plans, const WeightsSection& weights,
                                   const std::vector<TargetCode>& targets, const Provenance& provenance,
                                   const std::map<std::string, std::vector<std::string>>& labels = {});

}  // namespace gcg
