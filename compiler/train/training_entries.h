// The entries of a file that trains a model.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/report/trained_parameters.h"
#include "compiler/train/train_options.h"

namespace gcg {

inline constexpr const char* kTrainEntry = "train";

struct TrainingEntries {
  Graph infer;     // the model, which reads the states
  Graph train;     // computes the loss and new states from the inputs of the model and of the loss
  Graph evaluate;  // computes the loss from the same inputs
  /// With TrainOptions::replicas, the parts of `train` for replicas. `gradients` reads the states and outputs the loss
  /// and each parameter's gradient. `add` sums gradients of two replicas, `update` sums the last two and changes the
  /// parameters, and `accumulate` keeps the sum of a group that is not complete.
  std::vector<Graph> replicas;
  TrainedParameters report;

  /// All entries after `infer`, in the file's order.
  std::vector<Graph> take_others();
};

/// Makes the entries of a model. `parameters`: names of constants that may be trained; empty: all floats. Parameters
/// that a gradient reaches become states or, if the options say so, inputs and outputs. The optimizer's values and the
/// running statistics of BatchNormalization become states or inputs and outputs in the same way. In `train`,
/// BatchNormalization runs in training mode. Throws CompileError.
TrainingEntries make_training_entries(Graph model, const std::set<std::string>& parameters,
                                      const TrainOptions& options);

}  // namespace gcg
