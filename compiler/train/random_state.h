// Random numbers that differ from one training step to the next.
#pragma once

#include <optional>

#include "compiler/ir/graph.h"

namespace gcg {

inline constexpr const char* kRandomState = "random.state";

/// The state that a training step draws its random numbers from, i64[2]: {seed, number of finished steps}.
struct RandomState {
  ValueId in, out;
  TensorRef initial;
};

/// The state before the first step.
TensorRef first_random_state();
/// Adds the node that makes the state after a step from the state before it.
ValueId next_random_state(Graph& graph, ValueId before);

/// Makes all nodes that draw random numbers read a new input of the graph, kRandomState, in subgraphs, too. Each
/// iteration of a Loop draws numbers of its own. Returns nullopt if no node draws. Requires: operators are expanded,
/// and values have types.
std::optional<RandomState> add_random_state(Graph& graph);

}  // namespace gcg
