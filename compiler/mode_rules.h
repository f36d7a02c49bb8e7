// The rules by which threads share training steps.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/plan/parallel_modes.h"
#include "compiler/train/training_entries.h"

namespace gcg {

/// The rule for each entry point: the model's, then those of `more`. A training step is
///   asynchronous if the task says so: replicas;
///   synchronous for replicas that exchange statistics of their batches, as the task says: inter and replicas;
///   synchronous if a node computes statistics of the batch, by its operator's trait: inter and intra;
///   synchronous without such nodes if the task says so: inter and replicas.
/// If the task says nothing and no node computes statistics, and for all other entry points, the costs decide.
/// `task` and `trained` describe --train; null without it. If the model itself contains a training step, this step is
/// the entry point that updates states of the program. Requires: its operators are not expanded.
std::vector<ModeRule> mode_rules(const Graph& model, const std::vector<Graph>& more, const TrainOptions* task,
                                 const TrainedParameters* trained);

}  // namespace gcg
