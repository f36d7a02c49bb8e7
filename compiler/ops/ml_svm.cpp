// ai.onnx.ml: support vector machines.
#include "compiler/ops/ml.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

using Results = std::vector<ValueId>;

/// kernel(x, v) [N, V] for each of the V rows of the attribute `vectors`.
ValueId kernel_values(Expansion& x, int64_t vectors, const std::vector<double>& elements) {
  const auto features = static_cast<int64_t>(elements.size()) / vectors;
  const ValueId rows = x.cast(rows_of(x, 0), DType::f32), v = matrix(x, DType::f32, vectors, features, elements);
  std::vector<double> p = x.node().floats_attribute("kernel_params");
  p.resize(3, 0);
  const auto number = [&](double value) { return x.scalar(DType::f32, value); };
  const std::string kind = x.node().string_attribute("kernel_type", "LINEAR");
  if (kind == "RBF") {
    const ValueId apart = x.subtract(x.unsqueeze(rows, 1), x.unsqueeze(v, 0));
    const ValueId square = x.node("ReduceSumSquare", {apart, x.ints({2})}, {{"keepdims", int64_t{0}}});
    return x.node("Exp", {x.multiply(square, number(-p[0]))});
  }
  const ValueId product = x.node("MatMul", {rows, x.transpose(v, {1, 0})});
  if (kind == "LINEAR") return product;
  const ValueId inner = x.add(x.multiply(product, number(p[0])), number(p[1]));
  if (kind == "POLY") return x.node("Pow", {inner, number(p[2])});
  if (kind == "SIGMOID") return x.node("Tanh", {inner});
  x.fail(concat("kernel_type is '", kind, "', which is not known"));
}

Results expand_svm_regressor(Expansion& x) {
  const std::vector<double> coefficients = x.node().floats_attribute("coefficients"),
                            rho = x.node().floats_attribute("rho");
  const int64_t supports = x.node().int_attribute("n_supports", 0);
  if (rho.empty()) x.fail("attribute rho is missing");
  const bool linear = supports == 0;
  const ValueId values = linear ? kernel_values(x, 1, coefficients)
                                : kernel_values(x, supports, x.node().floats_attribute("support_vectors"));
  ValueId y = linear ? values : x.node("MatMul", {values, matrix(x, DType::f32, supports, 1, coefficients)});
  y = x.add(y, x.scalar(DType::f32, rho[0]));
  if (x.node().int_attribute("one_class", 0) != 0)
    y = x.node("Where",
               {x.node("Greater", {y, x.scalar(DType::f32, 0)}), x.scalar(DType::f32, 1), x.scalar(DType::f32, -1)});
  return {transformed(x, y, post_transform(x))};
}

// ---- SVMClassifier: one decision for each pair of classes i < j; a positive decision is for class i

/// Coefficients [pairs, vectors] of the decisions, from libsvm's layout by (other class, vector).
std::vector<double> pair_coefficients(Expansion& x, const std::vector<int64_t>& per_class, int64_t vectors) {
  const std::vector<double> given = x.node().floats_attribute("coefficients");
  const auto classes = static_cast<int64_t>(per_class.size());
  if (static_cast<int64_t>(given.size()) != (classes - 1) * vectors)
    x.fail(concat("it has ", given.size(), " coefficients; ", classes - 1, " times ", vectors, " are needed"));
  std::vector<int64_t> start = {0};
  for (const int64_t n : per_class) start.push_back(start.back() + n);
  std::vector<double> out;
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j)
      for (int64_t v = 0; v < vectors; ++v) {
        const auto of = [&](int64_t c) {
          return v >= start[static_cast<size_t>(c)] && v < start[static_cast<size_t>(c + 1)];
        };
        out.push_back(of(i)   ? given[static_cast<size_t>((j - 1) * vectors + v)]
                      : of(j) ? given[static_cast<size_t>(i * vectors + v)]
                              : 0);
      }
  return out;
}

/// The number of pairs that each class wins, [N, classes].
ValueId votes(Expansion& x, ValueId decisions, int64_t classes) {
  const int64_t pairs = classes * (classes - 1) / 2;
  std::vector<double> for_first(static_cast<size_t>(pairs * classes)), for_second(for_first);
  int64_t pair = 0;
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      for_first[static_cast<size_t>(pair * classes + i)] = 1;
      for_second[static_cast<size_t>(pair * classes + j)] = 1;
    }
  const ValueId first = x.cast(x.node("Greater", {decisions, x.scalar(DType::f32, 0)}), DType::f32);
  const ValueId second = x.subtract(x.scalar(DType::f32, 1), first);
  return x.add(x.node("MatMul", {first, matrix(x, DType::f32, pairs, classes, for_first)}),
               x.node("MatMul", {second, matrix(x, DType::f32, pairs, classes, for_second)}));
}

/// Probabilities of the classes. Platt's formula gives the probability of the first class of each pair: 1 / (1 + exp(a
/// s + b)).
ValueId probabilities(Expansion& x, ValueId decisions, int64_t classes) {
  const int64_t pairs = classes * (classes - 1) / 2;
  const auto negative = [&](const char* name) {
    std::vector<double> values = x.node().floats_attribute(name);
    if (static_cast<int64_t>(values.size()) != pairs)
      x.fail(concat("attribute ", name, " has ", values.size(), " numbers, not ", pairs, ": one per pair of classes"));
    for (double& v : values) v = -v;
    return matrix(x, DType::f32, 1, pairs, values);
  };
  const ValueId value = x.add(x.multiply(decisions, negative("prob_a")), negative("prob_b"));
  const ValueId first =
      x.node("Clip", {x.node("Sigmoid", {value}), x.scalar(DType::f32, 1e-7), x.scalar(DType::f32, 1 - 1e-7)});
  return x.node(op_gart_CoupledProbabilities, {first}, {{"classes", classes}});
}

Results expand_svm_classifier(Expansion& x) {
  const ClassLabels labels(x, "classlabels_ints");
  const std::vector<int64_t> per_class = x.node().ints_attribute("vectors_per_class");
  const std::vector<double> rho = x.node().floats_attribute("rho");
  const auto classes = static_cast<int64_t>(per_class.size());
  if (classes < 2) x.fail("a linear machine without support vectors is not supported");
  int64_t vectors = 0;
  for (const int64_t n : per_class) vectors += n;
  const int64_t pairs = classes * (classes - 1) / 2;
  const ValueId values = kernel_values(x, vectors, x.node().floats_attribute("support_vectors"));
  const ValueId weights =
      x.transpose(matrix(x, DType::f32, pairs, vectors, pair_coefficients(x, per_class, vectors)), {1, 0});
  const ValueId decisions = x.add(x.node("MatMul", {values, weights}), matrix(x, DType::f32, 1, pairs, rho));
  const bool probable = !x.node().floats_attribute("prob_a").empty();
  const ValueId label = labels.of(best_class(x, votes(x, decisions, classes)));
  if (probable) return {label, transformed(x, probabilities(x, decisions, classes), post_transform(x))};
  if (classes > 2) return {label, transformed(x, decisions, post_transform(x))};
  return {label, transformed(x, two_scores(x, x.node("Neg", {decisions}), decisions), post_transform(x))};
}

}  // namespace

constinit const ExpandedOp op_ml_SVMRegressor =
    giving({Types::floats}, ml("SVMRegressor", 1, 1, 1, {Types::numbers}, expand_svm_regressor));
constinit const ExpandedOp op_ml_SVMClassifier =
    giving({Types::i64, Types::floats}, ml("SVMClassifier", 1, 1, 1, {Types::numbers}, expand_svm_classifier, 2));

}  // namespace gcg
