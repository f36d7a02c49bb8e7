// Ends a training step whose loss or gradients are not finite.
#pragma once

#include <vector>

#include "compiler/train/formula.h"
#include "compiler/train/trained_parameter.h"

namespace gcg {

/// Output 0 of the graph, the loss, passes through a check. The run fails if the loss, or the norm of all gradients
/// together, is NaN or infinite; its states then keep their values, as after any failed run. The error names the first
/// tensor that is not finite: the loss, or a parameter's gradient, whose norm is tested. The usual step pays for one
/// branch: the gradients are looked at one by one only in a step that fails. `scale`: of the loss; valid only with
/// precision=f16. While it is above 1, a step skips gradients that are not finite, so the check lets them pass.
void check_finite(Graph& graph, const std::vector<TrainedParameter>& parameters, ValueId scale = {});

/// The same for a training step of the model itself (TrainingInfo), in which gradients are ordinary values. The check
/// covers the step's float outputs, the gradients that Adam, Adagrad and Momentum read, and the new values of states.
/// Requires: values have types, and output 0 has a known rank. Optimizers are not expanded.
void check_finite_step(Graph& graph);

/// A scalar, f32: 0 if all elements of the value are finite, otherwise infinite. Unlike a sum of squares, it cannot
/// overflow.
Formula finite_measure(FormulaWriter& w, ValueId v);

}  // namespace gcg
