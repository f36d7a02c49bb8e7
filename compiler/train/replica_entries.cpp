#include "compiler/train/replica_entries.h"

#include "compiler/passes/eliminate_dead_code.h"
#include "compiler/support/error.h"
#include "compiler/train/accumulation.h"
#include "compiler/train/loss_scale.h"

namespace gcg {
namespace {

std::string gradient_name(const std::string& parameter) { return concat("gradient.", parameter); }

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

/// {seed, finished steps}, `replica` steps later.
ValueId state_of_replica(Graph& graph, const RandomState& random, ValueId replica) {
  FormulaWriter w(graph, graph, "random.replica");
  return (w.of(random.in) + w.of(replica) * w.ints({0, 1})).id;
}

}  // namespace

ValueId make_gradients(Graph& step, const std::vector<TrainedParameter>& trained,
                       const std::optional<RandomState>& random) {
  step.name = kGradientsEntry;
  for (const TrainedParameter& p : trained) {
    FormulaWriter named(step, step, gradient_name(step.value(p.value).name));
    step.outputs.push_back(named.make("Identity", {named.of(p.gradient)}).id);
  }
  ValueId replica;
  if (random) {
    eliminate_dead_code(step);  // removes the node that makes the state's next value
    replica = new_value(step, "replica", DType::i64, {});
    std::vector<NodeId> readers = step.users()[static_cast<size_t>(random->in.index)];
    const ValueId state = state_of_replica(step, *random, replica);
    for (NodeId id : readers)
      for (ValueId& in : step.node(id).inputs)
        if (in == random->in) in = state;
  }
  return replica;
}

UpdateEntry make_update(const Graph& step, const std::vector<TrainedParameter>& trained, const TrainOptions& options,
                        bool has_random_state) {
  UpdateEntry entry;
  Graph& graph = entry.graph;
  graph.name = kUpdateEntry;
  for (const TrainedParameter& p : trained) {
    const Value& value = step.value(p.value);
    const ValueId own = new_value(graph, value.name, value.dtype, *value.shape);
    entry.inputs.push_back(new_value(graph, gradient_name(value.name), value.dtype, *value.shape));
    entry.trained.push_back({own, entry.inputs.back(), {}});
  }
  const ValueId share = new_value(graph, "share", DType::f64, {}), last = new_value(graph, "last", DType::boolean, {});
  Accumulation accumulation(graph, share, last);
  for (TrainedParameter& p : entry.trained) accumulation.add(p);
  std::optional<LossScale> scale;
  if (options.precision == DType::f16) scale.emplace(graph).test(entry.trained);
  const size_t before = graph.inputs.size();
  entry.states = add_optimizer(graph, options.optimizer, options.clip, entry.trained);
  if (options.optimizer.rate_is_input) entry.inputs.push_back(graph.inputs[before]);
  if (scale) scale->finish(entry.trained, entry.states);
  accumulation.finish(entry.trained, entry.states);
  entry.inputs.push_back(share);
  entry.inputs.push_back(last);
  if (has_random_state) {
    const ValueId in = new_value(graph, kRandomState, DType::i64, {Dim(2)});
    entry.random = RandomState{in, next_random_state(graph, in), first_random_state()};
  }
  return entry;
}

}  // namespace gcg
