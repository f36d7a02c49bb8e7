// The values that a training step changes.
#pragma once

#include <string>

#include "compiler/ir/graph.h"

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

}  // namespace gcg
