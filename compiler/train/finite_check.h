// Ends a training step whose loss or gradients are not finite.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/train/trained_parameter.h"

namespace gcg {

/// Output 0 of the graph, the loss, passes through a check. The run fails if the loss, or the norm of all gradients
/// together, is NaN or infinite; its states then keep their values, as after any failed run. The error names the first
/// tensor that is not finite: the loss, or a parameter's gradient, whose norm is tested. The usual step pays for one
/// branch: the gradients are looked at one by one only in a step that fails.
void check_finite(Graph& graph, const std::vector<TrainedParameter>& parameters);

}  // namespace gcg
