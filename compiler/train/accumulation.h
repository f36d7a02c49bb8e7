// Gradients that are summed over several steps before the optimizer uses them.
#pragma once

#include <vector>

#include "compiler/train/formula.h"
#include "compiler/train/optimizer.h"

namespace gcg {

/// The optimizer runs in the last step of each group of steps, with the mean of the gradients of these steps. Each
/// parameter gets a state NAME.gradient for the sum so far, and a state `accumulated` counts the steps in it.
class Accumulation {
 public:
  /// Each `steps`-th step is the last one of its group.
  Accumulation(Graph& graph, int64_t steps);
  /// No step is the last one. `share`: an input of the step (f64), 1 / steps of the group.
  Accumulation(Graph& graph, ValueId share);

  /// Replaces the parameter's gradient by the mean so far.
  void add(TrainedParameter& parameter);
  /// Adds the own states. Before the last step, the optimizer's new values are dropped.
  void finish(std::vector<TrainedParameter>& parameters, std::vector<OptimizerState>& states);

 private:
  /// Sets the new value of the newest state: `now`, or 0 after the last step.
  void keep(Formula now);
  Formula new_state(const std::string& name, DType dtype, const Shape& shape);

  Graph& graph_;
  FormulaWriter w_;
  Formula share_, is_last_;  // is_last_ is invalid if no step is the last one
  std::vector<OptimizerState> states_;
};

}  // namespace gcg
