// The entries of a file that trains a model.
#pragma once

#include <set>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/report/trained_parameters.h"
#include "compiler/train/train_options.h"

namespace gcg {

struct TrainingEntries {
  Graph infer;     // the model, which reads the states
  Graph train;     // the model's and the loss's inputs -> loss, and new states
  Graph evaluate;  // the same inputs -> loss
  TrainedParameters report;
};

/// Makes the entries of a model. `parameters`: names of constants that may be trained; empty: all floats. Those that a
/// gradient reaches become states (or, as the options say, inputs and outputs), and so do the optimizer's values and
/// the running statistics of BatchNormalization, which runs in training mode in `train`. Throws CompileError.
TrainingEntries make_training_entries(Graph model, const std::set<std::string>& parameters,
                                      const TrainOptions& options);

}  // namespace gcg
