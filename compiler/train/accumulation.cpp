#include "compiler/train/accumulation.h"

#include "compiler/support/error.h"

namespace gcg {

Accumulation::Accumulation(Graph& graph, int64_t steps) : graph_(graph), w_(graph, graph, "accumulation") {
  share_ = w_.scalar(DType::f64, 1.0 / static_cast<double>(steps));
  const Formula now = new_state("accumulated", DType::i64, {}) + 1;
  is_last_ = compare("GreaterOrEqual", now, static_cast<double>(steps));
  keep(now);
}

Accumulation::Accumulation(Graph& graph, ValueId share)
    : graph_(graph), w_(graph, graph, "accumulation"), share_(w_.of(share)) {
  keep(new_state("accumulated", DType::i64, {}) + 1);
}

void Accumulation::keep(Formula now) { states_.back().out = is_last_.valid() ? choose(is_last_, 0, now).id : now.id; }

void Accumulation::add(TrainedParameter& parameter) {
  const Value& value = graph_.value(parameter.value);
  const Formula before = new_state(concat(value.name, ".gradient"), value.dtype, *value.shape);
  const Formula now = before + w_.of(parameter.gradient) * cast(share_, value.dtype);
  keep(now);
  parameter.gradient = now.id;
}

void Accumulation::finish(std::vector<TrainedParameter>& parameters, std::vector<OptimizerState>& states) {
  const auto at_last = [&](ValueId next, ValueId before) { return choose(is_last_, w_.of(next), w_.of(before)).id; };
  for (TrainedParameter& p : parameters) p.updated = at_last(p.updated, p.value);
  for (OptimizerState& s : states) s.out = at_last(s.out, s.in);
  states.insert(states.end(), states_.begin(), states_.end());
}

Formula Accumulation::new_state(const std::string& name, DType dtype, const Shape& shape) {
  Value value;
  value.name = name;
  value.dtype = dtype;
  value.shape = shape;
  const ValueId id = graph_.add_value(std::move(value));
  graph_.inputs.push_back(id);
  states_.push_back({graph_.value(id).name, id, ValueId(), std::make_shared<Tensor>(dtype, to_extents(shape))});
  return w_.of(id);
}

}  // namespace gcg
