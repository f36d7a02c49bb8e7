// The norm of gradients.
#pragma once

#include <vector>

#include "compiler/train/formula.h"
#include "compiler/train/trained_parameter.h"

namespace gcg {

/// For each parameter the sum of the squares of its gradient, as f32 scalars.
std::vector<Formula> square_sums(FormulaWriter& w, const std::vector<TrainedParameter>& parameters);
/// The norm of all gradients together, from their square_sums.
Formula norm_of(const std::vector<Formula>& square_sums);

}  // namespace gcg
