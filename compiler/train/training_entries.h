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
  Graph train;     // computes the loss and new states from the inputs of the model and of the loss
  Graph evaluate;  // computes the loss from the same inputs
  TrainedParameters report;
};

/// Makes the entries of a model. `parameters`: names of constants that may be trained; empty: all floats. Parameters
/// that a gradient reaches become states or, if the options say so, inputs and outputs. The optimizer's values and the
/// running statistics of BatchNormalization become states or inputs and outputs in the same way. In `train`,
/// BatchNormalization runs in training mode. Throws CompileError.
TrainingEntries make_training_entries(Graph model, const std::set<std::string>& parameters,
                                      const TrainOptions& options);

}  // namespace gcg
