// One step of an optimizer, as PyTorch's torch.optim defines it.
#pragma once

#include <vector>

#include "compiler/train/formula.h"
#include "compiler/train/train_options.h"
#include "compiler/train/trained_parameter.h"

namespace gcg {

/// Adds the step to the graph, and sets the parameters' new values. With lr=input, the learning rate becomes an input
/// "lr" of the graph. The optimizer's states become inputs after it. Returns the states. Scales all gradients together
/// if their norm exceeds `clip` > 0.
std::vector<OptimizerState> add_optimizer(Graph& graph, const OptimizerOptions& options, double clip,
                                          std::vector<TrainedParameter>& parameters);

}  // namespace gcg
