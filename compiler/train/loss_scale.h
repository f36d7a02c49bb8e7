// A dynamic scale of the loss, which keeps small gradients within the range of f16.
#pragma once

#include <vector>

#include "compiler/train/formula.h"
#include "compiler/train/trained_parameter.h"

namespace gcg {

/// States of a step with precision=f16: the scale (f32), the number of steps since it changed, and the number of all
/// steps that were skipped (i64).
inline constexpr const char *kLossScale = "loss_scale", *kLossScaleSteps = "loss_scale.steps",
                            *kLossScaleSkipped = "loss_scale.skipped";

/// The rule of PyTorch's GradScaler, with its defaults. The scale begins with 65536. A step whose gradients are not all
/// finite changes neither parameters nor the optimizer's states, and halves the scale. After 2000 other steps in
/// succession the scale doubles. Unlike PyTorch's, the scale stays above 0.
class LossScale {
 public:
  /// Adds an input for the scale.
  explicit LossScale(Graph& graph);

  ValueId scale() const { return states_[0].in; }
  /// The scale in the type and shape of the loss: the gradient of the scaled loss with respect to the loss.
  ValueId seed(ValueId loss);
  /// Divides the parameter's gradient by the scale.
  void unscale(TrainedParameter& parameter);
  /// The state of the scale, for entries that only read it.
  const OptimizerState& state() const { return states_[0]; }

  /// Adds the inputs of the other states. Tests the gradients, which are not scaled.
  void test(const std::vector<TrainedParameter>& parameters);
  /// After the optimizer: drops new values of a skipped step, and adds the own states.
  void finish(std::vector<TrainedParameter>& parameters, std::vector<OptimizerState>& states);

 private:
  Formula new_state(const char* name, DType dtype, double initial);
  ValueId unless_skipped(ValueId next, ValueId before);

  Graph& graph_;
  FormulaWriter w_;
  Formula is_finite_;
  std::vector<OptimizerState> states_;
};

}  // namespace gcg
