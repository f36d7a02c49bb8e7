#include "compiler/train/replica_entries.h"

#include "compiler/passes/eliminate_dead_code.h"
#include "compiler/support/error.h"
#include "compiler/train/accumulation.h"
#include "compiler/train/loss_scale.h"

namespace gcg {
namespace {

std::string gradient_name(const std::string& parameter) { return concat("gradient.", parameter); }

std::string statistic_name(const std::string& state) { return concat("statistic.", state); }

ValueId new_value(Graph& graph, const std::string& name, DType dtype, const Shape& shape) {
  Value value;
  value.name = name;
  value.dtype = dtype;
  value.shape = shape;
  const ValueId id = graph.add_value(std::move(value));
  if (graph.value(id).name != name)
    fail("--train: the model has a value '", name, "' already, so replicas=on cannot add one of this name");
  return id;
}

/// The state {seed, finished steps}, `steps` steps later.
ValueId later_state(Graph& graph, ValueId state, ValueId steps) {
  FormulaWriter w(graph, graph, "random.replica");
  return (w.of(state) + w.of(steps) * w.ints({0, 1})).id;
}

}  // namespace

ValueId make_gradients(Graph& step, const std::vector<TrainedParameter>& trained,
                       const std::vector<OptimizerState>& statistics, const std::optional<RandomState>& random) {
  step.name = kGradientsEntry;
  const auto give = [&](const std::string& name, ValueId value) {
    FormulaWriter named(step, step, name);
    step.outputs.push_back(named.make("Identity", {named.of(value)}).id);
  };
  for (const TrainedParameter& p : trained) give(gradient_name(step.value(p.value).name), p.gradient);
  for (const OptimizerState& s : statistics) give(statistic_name(s.name), s.out);
  ValueId replica;
  if (random) {
    eliminate_dead_code(step);  // removes the node that makes the state's next value
    replica = new_value(step, "replica", DType::i64, {});
    std::vector<NodeId> readers = step.users()[static_cast<size_t>(random->in.index)];
    const ValueId state = later_state(step, random->in, replica);
    for (NodeId id : readers)
      for (ValueId& in : step.node(id).inputs)
        if (in == random->in) in = state;
  }
  return replica;
}

void GroupEntries::add_parameter(GroupEntry& entry, const TrainedParameter& p) const {
  const Value& value = step_.value(p.value);
  entry.trained.push_back({new_value(entry.graph, value.name, value.dtype, *value.shape), {}, {}});
}

void GroupEntries::add_operands(GroupEntry& entry) const {
  Graph& graph = entry.graph;
  for (const TrainedParameter& p : trained_) add_parameter(entry, p);
  std::vector<ValueId> operands[2], shares;
  const char* const names[] = {"first", "second"};
  for (size_t i = 0; i < 2; ++i)
    for (const TrainedParameter& p : trained_) {
      const Value& value = step_.value(p.value);
      operands[i].push_back(new_value(graph, concat(names[i], ".", value.name), value.dtype, *value.shape));
      entry.inputs.push_back(operands[i].back());
    }
  for (const char* name : names) {
    shares.push_back(new_value(graph, concat("share.", name), DType::f64, {}));
    entry.inputs.push_back(shares.back());
  }
  FormulaWriter w(graph, graph, "sum");
  const Formula first_share = w.of(shares[0]), second_share = w.of(shares[1]);
  const Formula is_alone = compare("Equal", second_share, 0);
  for (size_t i = 0; i < trained_.size(); ++i) {
    const Formula a = w.of(operands[0][i]), b = w.of(operands[1][i]);
    // An accumulating step adds its first gradient to zeros, which turns -0 into 0.
    const Formula first = w.scalar(a.dtype(), 0) + a * cast(first_share, a.dtype());
    entry.trained[i].gradient = choose(is_alone, first, first + b * cast(second_share, a.dtype())).id;
  }
}

void GroupEntries::replace_statistics(GroupEntry& entry) const {
  for (const OptimizerState& s : statistics_) {
    const Value& value = step_.value(s.in);
    const ValueId in = new_value(entry.graph, s.name, value.dtype, *value.shape);
    entry.inputs.push_back(new_value(entry.graph, statistic_name(s.name), value.dtype, *value.shape));
    FormulaWriter w(entry.graph, entry.graph, "statistics");
    entry.states.push_back({s.name, in, w.make("Identity", {w.of(entry.inputs.back())}).id, s.initial});
  }
}

void GroupEntries::advance_random_state(GroupEntry& entry, std::optional<ValueId> steps) const {
  if (!has_random_state_) return;
  const ValueId in = new_value(entry.graph, kRandomState, DType::i64, {Dim(2)});
  const ValueId out = steps ? later_state(entry.graph, in, *steps) : next_random_state(entry.graph, in);
  entry.states.push_back({kRandomState, in, out, first_random_state()});
}

GroupEntry GroupEntries::make_add() const {
  GroupEntry entry;
  entry.graph.name = kAddEntry;
  add_operands(entry);
  for (const TrainedParameter& p : entry.trained) {
    FormulaWriter named(entry.graph, entry.graph, concat("sum.", entry.graph.value(p.value).name));
    entry.graph.outputs.push_back(named.make("Identity", {named.of(p.gradient)}).id);
  }
  return entry;
}

GroupEntry GroupEntries::make_update() const {
  GroupEntry entry;
  Graph& graph = entry.graph;
  graph.name = kUpdateEntry;
  add_operands(entry);
  std::optional<LossScale> scale;
  if (options_.precision == DType::f16) scale.emplace(graph).test(entry.trained);
  const size_t before = graph.inputs.size();
  entry.states = add_optimizer(graph, options_.optimizer, options_.clip, entry.trained);
  if (options_.optimizer.rate_is_input) entry.inputs.push_back(graph.inputs[before]);
  if (scale) scale->finish(entry.trained, entry.states);
  replace_statistics(entry);
  if (has_random_state_) {
    entry.inputs.push_back(new_value(graph, "steps", DType::i64, {}));
    advance_random_state(entry, entry.inputs.back());
  }
  return entry;
}

GroupEntry GroupEntries::make_accumulate() const {
  GroupEntry entry;
  entry.graph.name = kAccumulateEntry;
  for (const TrainedParameter& p : trained_) {
    add_parameter(entry, p);
    const Value& value = step_.value(p.value);
    entry.inputs.push_back(new_value(entry.graph, gradient_name(value.name), value.dtype, *value.shape));
    entry.trained.back().gradient = entry.inputs.back();
  }
  entry.inputs.push_back(new_value(entry.graph, "share", DType::f64, {}));
  Accumulation accumulation(entry.graph, entry.inputs.back());
  for (TrainedParameter& p : entry.trained) accumulation.add(p);
  std::vector<TrainedParameter> none;
  accumulation.finish(none, entry.states);
  advance_random_state(entry, std::nullopt);
  return entry;
}

}  // namespace gcg
