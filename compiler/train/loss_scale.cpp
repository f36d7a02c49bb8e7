#include "compiler/train/loss_scale.h"

#include <limits>

#include "compiler/support/error.h"
#include "compiler/train/finite_check.h"

namespace gcg {
namespace {

constexpr double kFirst = 65536, kGrowth = 2, kBackoff = 0.5, kInterval = 2000;
constexpr double kSmallest = 0x1p-24;  // far below the scales of gradients that f16 can hold

}  // namespace

LossScale::LossScale(Graph& graph) : graph_(graph), w_(graph, graph, kLossScale) {
  new_state(kLossScale, DType::f32, kFirst);
}

ValueId LossScale::seed(ValueId loss) {
  const Formula like = w_.of(loss);
  return expand_like(cast(w_.of(scale()), like.dtype()), like).id;
}

void LossScale::unscale(TrainedParameter& parameter) {
  const Formula gradient = w_.of(parameter.gradient);
  parameter.gradient = (gradient * cast(1 / w_.of(scale()), gradient.dtype())).id;
}

void LossScale::test(const std::vector<TrainedParameter>& parameters) {
  Formula all;
  for (const TrainedParameter& p : parameters) {
    const Formula measure = finite_measure(w_, p.gradient);
    all = all.valid() ? all + measure : measure;
  }
  is_finite_ = compare("Less", all, std::numeric_limits<double>::infinity());
  const Formula before = w_.of(scale()), steps = new_state(kLossScaleSteps, DType::i64, 0) + 1;
  const Formula grows = compare("GreaterOrEqual", steps, kInterval), larger = before * kGrowth;
  const Formula kept = compare("Less", larger, std::numeric_limits<double>::infinity());
  const Formula grown = choose(w_.make("And", {grows, kept}), larger, before);
  const Formula smaller = w_.make("Max", {before * kBackoff, w_.scalar(DType::f32, kSmallest)});
  states_[0].out = choose(is_finite_, grown, smaller).id;
  states_[1].out = choose(w_.make("And", {is_finite_, w_.make("Not", {grows})}), steps, 0).id;
  const Formula skipped = new_state(kLossScaleSkipped, DType::i64, 0);
  states_[2].out = choose(is_finite_, skipped, skipped + 1).id;
}

void LossScale::finish(std::vector<TrainedParameter>& parameters, std::vector<OptimizerState>& states) {
  for (TrainedParameter& p : parameters) p.updated = unless_skipped(p.updated, p.value);
  for (OptimizerState& s : states) s.out = unless_skipped(s.out, s.in);
  states.insert(states.end(), states_.begin(), states_.end());
}

ValueId LossScale::unless_skipped(ValueId next, ValueId before) {
  return choose(is_finite_, w_.of(next), w_.of(before)).id;
}

Formula LossScale::new_state(const char* name, DType dtype, double initial) {
  Value value;
  value.name = name;
  value.dtype = dtype;
  value.shape = Shape{};
  const ValueId id = graph_.add_value(std::move(value));
  if (graph_.value(id).name != name)
    fail("--train: the model has a value '", name, "' already, so precision=f16 cannot add a state of this name");
  graph_.inputs.push_back(id);
  auto first = std::make_shared<Tensor>(dtype, std::vector<int64_t>{});
  first->set_double(0, initial);
  states_.push_back({name, id, ValueId(), std::move(first)});
  return w_.of(id);
}

}  // namespace gcg
