// One step of an optimizer, as PyTorch's torch.optim defines it.
#pragma once

#include <string>
#include <vector>

#include "compiler/train/formula.h"
#include "compiler/train/train_options.h"

namespace gcg {

/// A value that the optimizer keeps between steps, with its name, its first value and its new value.
struct OptimizerState {
  std::string name;
  ValueId in, out;
  TensorRef initial;
};

/// A parameter, its gradient, and its new value after the step.
struct TrainedParameter {
  ValueId value, gradient, updated;
};

/// Adds the step to the graph, and sets the parameters' new values. With lr=input, the learning rate becomes an input
/// "lr" of the graph. The optimizer's states become inputs after it. Returns the states. Scales all gradients together
/// if their norm exceeds `clip` > 0.
std::vector<OptimizerState> add_optimizer(Graph& graph, const OptimizerOptions& options, double clip,
                                          std::vector<TrainedParameter>& parameters);

}  // namespace gcg
