// The fleet for callers that specify none: a GPU and the CPU, if the targets have code for them.
#pragma once

#include <optional>
#include <vector>

#include "compiler/fleet/fleet.h"
#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"
#include "compiler/partition/cut.h"

namespace gcg {

/// "cuda:0" if there is a GPU target, and "cpu" if there is a CPU target.
Fleet fleet_of(const std::vector<Target>& targets);

/// The fleet for which the model is cut although the user requested none. Assignments need a cut. Nodes that only CPUs
/// run also need a cut if there is a GPU target. All other nodes stay on the GPU (cut.others). nullopt: the model stays
/// whole. Throws CompileError for assignments without a GPU or without a CPU among the targets.
std::optional<Fleet> implied_fleet(const Graph& model, const std::vector<Target>& targets, CutOptions& cut);

/// The targets that have code for the model as a whole. Throws CompileError if there are none, naming the node.
std::vector<Target> targets_of_whole(const Graph& model, const std::vector<Target>& targets);

}  // namespace gcg
