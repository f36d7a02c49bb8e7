// The fleet of who names none: a GPU and the CPU, as the targets have code for them.
#pragma once

#include <optional>
#include <vector>

#include "compiler/fleet/fleet.h"
#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"
#include "compiler/partition/cut.h"

namespace gcg {

/// "cuda:0" if there is a target of GPUs, and "cpu" if there is one of CPUs.
Fleet fleet_of(const std::vector<Target>& targets);

/// What the model is cut for though no fleet was asked for: assignments want a cut, and, where there is a GPU, nodes
/// that only CPUs run. All other nodes stay on the GPU (cut.others). nullopt: the model stays whole. Throws
/// CompileError for assignments without a GPU or without a CPU among the targets.
std::optional<Fleet> implied_fleet(const Graph& model, const std::vector<Target>& targets, CutOptions& cut);

/// The targets that have code for the model as a whole. Throws CompileError if there are none, naming the node.
std::vector<Target> targets_of_whole(const Graph& model, const std::vector<Target>& targets);

}  // namespace gcg
