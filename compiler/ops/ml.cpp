#include "compiler/ops/ml.h"

#include <numbers>

namespace gcg {

ValueId rows_of(Expansion& x, size_t i) {
  if (x.rank(i) == 2) return x.input(i);
  if (x.rank(i) != 1) x.fail(concat("input ", i, " has ", x.rank(i), " dimensions, not 1 or 2"));
  return x.unsqueeze(x.input(i), 0);
}

DType feature_type(Expansion& x, size_t i) { return x.dtype(i) == DType::f64 ? DType::f64 : DType::f32; }

std::vector<double> doubles_attribute(const Expansion& x, const char* name) {
  const TensorRef tensor = x.node().tensor_attribute(std::string(name) + "_as_tensor");
  if (!tensor) return x.node().floats_attribute(name);
  std::vector<double> values;
  for (int64_t i = 0; i < tensor->elements(); ++i) values.push_back(tensor->at_double(i));
  return values;
}

std::string post_transform(const Expansion& x) { return x.node().string_attribute("post_transform", "NONE"); }

namespace {

/// The inverse of the normal distribution: sqrt(2) * inverse_erf(2 p - 1), by Winitzki's approximation.
ValueId probit(Expansion& x, ValueId p) {
  constexpr double kA = 0.147;
  const auto number = [&](double v) { return x.scalar(DType::f32, v); };
  const ValueId y = x.subtract(x.multiply(p, number(2)), number(1));
  const ValueId log = x.node("Log", {x.multiply(x.subtract(number(1), y), x.add(number(1), y))});
  const ValueId half = x.add(x.multiply(log, number(0.5)), number(2 / (std::numbers::pi * kA)));
  const ValueId inner = x.node("Sqrt", {x.subtract(x.multiply(half, half), x.multiply(log, number(1 / kA)))});
  const ValueId size = x.node("Sqrt", {x.subtract(inner, half)});
  return x.multiply(x.multiply(x.node("Sign", {y}), size), number(std::numbers::sqrt2));
}

/// The softmax of the scores that are not (nearly) zero; the others stay zero.
ValueId softmax_zero(Expansion& x, ValueId scores) {
  const ValueId none = x.scalar(DType::f32, 0);
  const ValueId counts = x.node("Greater", {x.node("Abs", {scores}), x.scalar(DType::f32, 1e-7)});
  const ValueId most = x.node("ReduceMax", {scores, x.ints({-1})});
  const ValueId e = x.node("Where", {counts, x.node("Exp", {x.subtract(scores, most)}), none});
  const ValueId sum = x.node("ReduceSum", {e, x.ints({-1})});
  return x.node("Where", {counts, x.node("Div", {e, sum}), none});
}

}  // namespace

ValueId transformed(Expansion& x, ValueId scores, const std::string& kind) {
  if (kind == "NONE") return scores;
  if (kind == "SOFTMAX") return x.node("Softmax", {scores}, {{"axis", int64_t{-1}}});
  if (kind == "LOGISTIC") return x.node("Sigmoid", {scores});
  if (kind == "SOFTMAX_ZERO") return softmax_zero(x, scores);
  if (kind == "PROBIT") return probit(x, scores);
  x.fail(concat("post_transform is '", kind, "', which is not known"));
}

ClassLabels::ClassLabels(Expansion& x, const char* ints) : x_(x), ints_(x.node().ints_attribute(ints)) {
  const std::vector<std::string> strings = x.node().strings_attribute("classlabels_strings");
  if (ints_.empty() && strings.empty()) x.fail(concat("it has neither ", ints, " nor classlabels_strings"));
  count_ = static_cast<int64_t>(ints_.empty() ? strings.size() : ints_.size());
}

ValueId ClassLabels::of(ValueId numbers) const {
  for (size_t i = 0; i < ints_.size(); ++i)
    if (ints_[i] != static_cast<int64_t>(i)) return x_.node("Gather", {x_.ints(ints_), numbers});
  return numbers;
}

ValueId matrix(Expansion& x, DType dtype, int64_t rows, int64_t columns, const std::vector<double>& values) {
  if (static_cast<int64_t>(values.size()) != rows * columns)
    x.fail(concat("it has ", values.size(), " coefficients; ", rows, " times ", columns, " are needed"));
  Tensor t(dtype, {rows, columns});
  for (int64_t i = 0; i < t.elements(); ++i) t.set_double(i, values[static_cast<size_t>(i)]);
  return x.constant(std::move(t));
}

ValueId best_class(Expansion& x, ValueId scores) {
  return x.node("ArgMax", {scores}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
}

ValueId two_scores(Expansion& x, ValueId negative, ValueId positive) { return x.concat({negative, positive}, 1); }

}  // namespace gcg
