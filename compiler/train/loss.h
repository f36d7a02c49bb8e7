// Losses for training, as PyTorch defines them: the mean over all elements that count.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/train/train_options.h"

namespace gcg {

/// Removes all outputs except the value that the loss's first argument names. Throws CompileError with the nearest
/// names if there is no such value.
void keep_loss_argument(Graph& graph, const LossOptions& options);

/// Replaces output 0 by its loss, called "loss". Adds the inputs that the loss declares, after the graph's own inputs.
/// Requires: the types of all values are known. Throws CompileError if types do not fit.
void add_loss(Graph& graph, const LossOptions& options);

}  // namespace gcg
