// The two halves of a training step: replicas compute gradients, and their updates follow in a fixed order.
#pragma once

#include <optional>
#include <vector>

#include "compiler/train/optimizer.h"
#include "compiler/train/random_state.h"
#include "compiler/train/train_options.h"

namespace gcg {

inline constexpr const char *kGradientsEntry = "gradients", *kUpdateEntry = "update";

/// Turns a step that has its loss and its gradients, but no optimizer, into the entry `gradients`. Its outputs are the
/// loss and gradient.NAME for each parameter. If the step draws random numbers, the result is a new input `replica`:
/// the number of updates that come between the state that the replica reads and its own update. Otherwise the result is
/// invalid.
ValueId make_gradients(Graph& step, const std::vector<TrainedParameter>& trained,
                       const std::optional<RandomState>& random);

/// The entry `update`: adds one replica's gradients to their sum. In the last update of a group, the optimizer runs
/// with the mean of the group.
struct UpdateEntry {
  Graph graph;
  std::vector<ValueId> inputs;            // gradient.NAME for each parameter, lr if it is an input, share, last
  std::vector<TrainedParameter> trained;  // in the order of the step's parameters
  std::vector<OptimizerState> states;     // states of the optimizer, then the sums of gradients
  std::optional<RandomState> random;
};

/// `step`: the graph that has the parameters. It gives their names and types.
UpdateEntry make_update(const Graph& step, const std::vector<TrainedParameter>& trained, const TrainOptions& options,
                        bool has_random_state);

}  // namespace gcg
