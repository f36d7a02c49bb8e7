// ai.onnx.ml: linear models.
#include "compiler/ops/ml.h"

namespace gcg {
namespace {

using Results = std::vector<ValueId>;

/// Scores [N, targets]: features * transposed coefficients + intercepts.
ValueId scores_of(Expansion& x, int64_t targets) {
  const std::vector<double> coefficients = x.node().floats_attribute("coefficients"),
                            intercepts = x.node().floats_attribute("intercepts");
  const int64_t features = static_cast<int64_t>(coefficients.size()) / targets;
  const ValueId weights = matrix(x, DType::f32, targets, features, coefficients);
  const ValueId y = x.node("MatMul", {x.cast(rows_of(x, 0), DType::f32), x.transpose(weights, {1, 0})});
  return intercepts.empty() ? y : x.add(y, matrix(x, DType::f32, 1, targets, intercepts));
}

Results expand_linear_regressor(Expansion& x) {
  return {transformed(x, scores_of(x, x.node().int_attribute("targets", 1)), post_transform(x))};
}

/// A single score decides between two classes: the second class is chosen if the score is positive.
Results one_score(Expansion& x, const ClassLabels& labels, ValueId score) {
  const ValueId positive = x.node("Squeeze", {x.node("Greater", {score, x.scalar(DType::f32, 0)}), x.ints({1})});
  const std::string kind = post_transform(x);
  const ValueId y = kind == "SOFTMAX" || kind == "SOFTMAX_ZERO" ? score : transformed(x, score, kind);
  const ValueId both = kind == "PROBIT" ? y : two_scores(x, x.subtract(x.scalar(DType::f32, 1), y), y);
  return {labels.of(x.cast(positive, DType::i64)), both};
}

Results expand_linear_classifier(Expansion& x) {
  const ClassLabels labels(x, "classlabels_ints");
  const auto intercepts = static_cast<int64_t>(x.node().floats_attribute("intercepts").size());
  const int64_t targets = intercepts > 0 ? intercepts : labels.count();
  const ValueId scores = scores_of(x, targets);
  if (targets == 1) return one_score(x, labels, scores);
  return {labels.of(best_class(x, scores)), transformed(x, scores, post_transform(x))};
}

}  // namespace

constinit const ExpandedOp op_ml_LinearRegressor =
    giving({Types::floats}, ml("LinearRegressor", 1, 1, 1, {Types::numbers}, expand_linear_regressor));
constinit const ExpandedOp op_ml_LinearClassifier =
    giving({Types::i64, Types::floats}, ml("LinearClassifier", 1, 1, 1, {Types::numbers}, expand_linear_classifier, 2));

}  // namespace gcg
