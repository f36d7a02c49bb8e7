// Losses for training, as PyTorch defines them: the mean over all elements that count.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/train/train_options.h"

namespace gcg {

/// Makes the value that the loss's first argument names the only output. Throws CompileError if there is none, with the
/// nearest names.
void keep_loss_argument(Graph& graph, const LossOptions& options);

/// Replaces output 0 by its loss, called "loss". Adds the inputs that the loss declares behind the graph's own.
/// Requires: the types of all values are known. Throws CompileError if types do not fit.
void add_loss(Graph& graph, const LossOptions& options);

}  // namespace gcg
