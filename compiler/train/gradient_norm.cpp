#include "compiler/train/gradient_norm.h"

namespace gcg {

std::vector<Formula> square_sums(FormulaWriter& w, const std::vector<TrainedParameter>& parameters) {
  std::vector<Formula> sums;
  for (const TrainedParameter& p : parameters) {
    const Formula g = w.of(p.gradient);
    sums.push_back(cast(total(g * g), DType::f32));
  }
  return sums;
}

Formula norm_of(const std::vector<Formula>& square_sums) {
  Formula all = square_sums[0];
  for (size_t i = 1; i < square_sums.size(); ++i) all = all + square_sums[i];
  return unary("Sqrt", all);
}

}  // namespace gcg
