#include "compiler/train/training_entries.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/ir/states.h"
#include "compiler/ops/exchange.h"
#include "compiler/ops/expansion.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/partition/runs_on.h"
#include "compiler/passes/eliminate_dead_code.h"
#include "compiler/support/error.h"
#include "compiler/support/nearest.h"
#include "compiler/train/accumulation.h"
#include "compiler/train/capture_parameter.h"
#include "compiler/train/differentiate.h"
#include "compiler/train/finite_check.h"
#include "compiler/train/lora.h"
#include "compiler/train/loss.h"
#include "compiler/train/loss_scale.h"
#include "compiler/train/mixed_precision.h"
#include "compiler/train/optimizer.h"
#include "compiler/train/phases.h"
#include "compiler/train/random_state.h"
#include "compiler/train/replica_entries.h"
#include "compiler/train/training_mode.h"

namespace gcg {
namespace {

/// A value that training changes. Ids are valid in the model and in its copies.
struct Changing {
  std::string name;
  ValueId in, out;  // out: a value of the entry `train`
  TensorRef initial;
};

bool fits_one(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return fits_pattern(pattern, name); });
}

class EntriesMaker {
 public:
  EntriesMaker(Graph model, std::set<std::string> parameters, const TrainOptions& options)
      : options_(options), model_(std::move(model)) {
    infer_graph(model_);
    if (!options.lora.targets.empty()) parameters = add_adapters(model_, options.lora);
    check_patterns(parameters);
    for (int64_t v = 0; v < model_.value_count(); ++v) {
      const Value& value = model_.value(ValueId(v));
      const bool is_parameter = parameters.empty() || parameters.count(value.name) != 0;
      if (!value.constant || !is_float(value.dtype) || !is_parameter) continue;
      if (fits_one(options.frozen, value.name))
        frozen_.insert(ValueId(v));
      else
        candidates_.insert(ValueId(v));
    }
  }

  TrainingEntries make() {
    TrainingEntries entries;
    entries.train = make_train();
    entries.evaluate = make_reader("evaluate", true);
    entries.infer = make_reader("infer", false);
    entries.replicas = std::move(replicas_);
    entries.report = std::move(report_);
    return entries;
  }

 private:
  void check_patterns(const std::set<std::string>& parameters) const {
    const std::vector<std::string> names(parameters.begin(), parameters.end());
    for (const std::string& pattern : options_.frozen)
      if (!names.empty() && std::none_of(names.begin(), names.end(),
                                         [&](const std::string& name) { return fits_pattern(pattern, name); }))
        fail("--train: frozen=", pattern, " matches no parameter", nearest(pattern, names));
  }

  Graph make_train() {
    Graph graph = model_.clone();
    graph.name = kTrainEntry;
    const std::vector<ValueId> inputs = graph.inputs;
    keep_loss_argument(graph, options_.loss);
    eliminate_dead_code(graph);
    if (options_.drops)
      report_.dropouts = start_dropout(graph);
    else
      stop_dropout(graph);
    train_batch_norms(graph);
    if (const std::string* node = batch_statistics_of(graph)) report_.batch_statistics = *node;
    std::vector<ValueId> parameters = open_parameters(graph);
    expand_for_gradients(graph);
    const std::optional<RandomState> random = add_random_state(graph);
    for (size_t i = 0; i < statistics_.size(); ++i) statistics_[i].out = graph.outputs[i + 1];
    graph.outputs.resize(1);
    const size_t before = graph.inputs.size();
    add_loss(graph, options_.loss);
    std::vector<ValueId> all_inputs = inputs;
    all_inputs.insert(all_inputs.end(), graph.inputs.begin() + static_cast<std::ptrdiff_t>(before), graph.inputs.end());
    if (options_.precision != DType::f32) round_products(graph, options_.precision);
    std::optional<LossScale> scale;
    if (options_.precision == DType::f16) scale.emplace(graph);
    std::vector<TrainedParameter> trained = find_gradients(graph, parameters, scale);
    if (options_.replicas) make_replicas(graph, all_inputs, trained, random, scale);
    drop_exchanges(graph);
    optimize(graph, trained, scale);
    if (random) changing_.push_back({graph.value(random->in).name, random->in, random->out, random->initial});
    if (options_.optimizer.rate_is_input) all_inputs.push_back(rate_);
    graph.inputs = std::move(all_inputs);
    for (const Changing& c : changing_) add_state(graph, c, c.out);
    check_names(graph);
    return graph;
  }

  /// BatchNormalization normalises by the statistics of the batch, unless its running statistics are frozen or
  /// computed. The new running statistics become outputs.
  void train_batch_norms(Graph& graph) {
    std::map<ValueId, size_t> known;  // by running statistic
    for (NodeId id : graph.order()) {
      Node& node = graph.node(id);
      if (node.op != &op_BatchNormalization && node.op != &op_gart_TrainingBatchNormalization.def) continue;
      const std::vector<ValueId> running = {node.inputs[3], node.inputs[4]};
      if (std::any_of(running.begin(), running.end(), [&](ValueId v) { return candidates_.count(v) == 0; })) continue;
      node.op = &op_gart_TrainingBatchNormalization.def;
      if (options_.exchanges_statistics) node.attributes[kExchangedStatistics] = int64_t{1};
      for (size_t i = 0; i < 2; ++i) {
        const ValueId out = statistic_of(graph, id, i + 1);
        const auto [it, fresh] = known.try_emplace(running[i], statistics_.size());
        if (fresh) {
          const Value& value = graph.value(running[i]);
          statistics_.push_back({value.name, running[i], out, value.constant});
        } else {  // several nodes share the statistics: each node continues from those of the previous one
          node.inputs[3 + i] = std::exchange(statistics_[it->second].out, out);
        }
      }
      infer_node(graph, id, graph);
    }
    for (const Changing& s : statistics_) {
      make_input(graph, s.in);
      graph.outputs.push_back(s.out);
      candidates_.erase(s.in);
      running_.insert(s.in);
    }
    report_.statistics = static_cast<int64_t>(statistics_.size());
  }

  /// The node's output `i`, which is added if the model omits it.
  static ValueId statistic_of(Graph& graph, NodeId id, size_t i) {
    Node& node = graph.node(id);
    node.outputs.resize(std::max(node.outputs.size(), i + 1));
    if (node.outputs[i].valid()) return node.outputs[i];
    Value next;
    next.name = concat(node.name, ".statistic");
    next.producer = id;
    next.output_index = static_cast<int>(i);
    return node.outputs[i] = graph.add_value(std::move(next));
  }

  static void make_input(Graph& graph, ValueId parameter) {
    graph.value(parameter).constant = nullptr;
    graph.inputs.push_back(parameter);
  }

  /// Turns parameters that nodes read into inputs.
  std::vector<ValueId> open_parameters(Graph& graph) {
    std::set<ValueId> read;
    for (ValueId c : candidates_)
      if (capture_parameter(graph, model_.value(c).constant.get(), c)) read.insert(c);
    for (NodeId id : graph.order())
      for (ValueId in : graph.node(id).inputs)
        if (in.valid() && candidates_.count(in) != 0) read.insert(in);
    for (ValueId parameter : read) make_input(graph, parameter);
    return {read.begin(), read.end()};
  }

  /// The parameters that a gradient reaches. The others become constants again.
  std::vector<TrainedParameter> find_gradients(Graph& graph, const std::vector<ValueId>& parameters,
                                               std::optional<LossScale>& scale) {
    const ValueId loss = graph.outputs[0];
    const std::vector<ValueId> gradients = scale ? differentiate(graph, graph, {loss}, {scale->seed(loss)}, parameters)
                                                 : differentiate(graph, loss, parameters);
    std::vector<TrainedParameter> trained;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Value& value = model_.value(parameters[i]);
      if (!gradients[i].valid()) {
        graph.value(parameters[i]).constant = value.constant;
        report_.unreached.push_back(value.name);
        continue;
      }
      check_type(value);
      trained.push_back({parameters[i], gradients[i], {}});
      if (scale) scale->unscale(trained.back());
      report_.elements += value.constant->elements();
    }
    if (trained.empty()) fail("--train: the loss depends on no parameter that is not frozen");
    report_.trained = static_cast<int64_t>(trained.size());
    report_.frozen = static_cast<int64_t>(frozen_.size());
    return trained;
  }

  void check_type(const Value& parameter) const {
    if (parameter.dtype == DType::f32) return;
    if (parameter.dtype != DType::f64)
      fail("--train: parameter '", parameter.name, "' is ", name_of(parameter.dtype), ", only f32 and f64 are trained");
    if (options_.precision != DType::f32)
      fail("--train: parameter '", parameter.name, "' is f64; precision=", name_of(options_.precision),
           " needs parameters in f32");
  }

  /// Makes the entries for replicas from a step that has no optimizer yet. `own`: its inputs without states.
  void make_replicas(const Graph& step, std::vector<ValueId> own, const std::vector<TrainedParameter>& trained,
                     const std::optional<RandomState>& random, const std::optional<LossScale>& scale) {
    if (!statistics_.empty() && !options_.exchanges_statistics)
      fail("--train: replicas=on: node '", report_.batch_statistics, "' updates statistics of its batch ('",
           statistics_[0].name, "'); exchange them (batch_statistics=exchanged), freeze them, or leave out replicas");
    Graph gradients = step.clone();
    if (options_.checks_finite) check_finite(gradients, trained, scale ? scale->scale() : ValueId());
    std::vector<OptimizerState> statistics;
    for (const Changing& s : statistics_) statistics.push_back({s.name, s.in, s.out, s.initial});
    const ValueId replica = make_gradients(gradients, trained, statistics, random);
    if (replica.valid()) own.push_back(replica);
    gradients.inputs = std::move(own);
    std::vector<Changing> states = statistics_;
    for (const TrainedParameter& p : trained)
      states.push_back({model_.value(p.value).name, p.value, {}, model_.value(p.value).constant});
    if (scale) states.push_back({kLossScale, scale->scale(), {}, scale->state().initial});
    if (random) states.push_back({kRandomState, random->in, {}, random->initial});
    for (const Changing& s : states) gradients.inputs.push_back(s.in);
    for (Graph& phase : split_at_exchanges(gradients)) {
      const std::vector<ValueId> inputs = std::move(phase.inputs);
      const auto reads = [&](ValueId v) { return std::find(inputs.begin(), inputs.end(), v) != inputs.end(); };
      phase.inputs.clear();
      for (ValueId in : inputs)
        if (std::none_of(states.begin(), states.end(), [&](const Changing& s) { return s.in == in; }))
          phase.inputs.push_back(in);
      for (const Changing& s : states)
        if (reads(s.in)) add_state(phase, s, {});
      replicas_.push_back(std::move(phase));
    }

    const GroupEntries group(step, trained, statistics, options_, random.has_value());
    replicas_.push_back(with_states(group.make_add(), {}));
    replicas_.push_back(with_states(group.make_update(), trained));
    replicas_.push_back(with_states(group.make_accumulate(), {}));
  }

  /// `changed`: the step's parameters that the entry changes.
  Graph with_states(GroupEntry entry, const std::vector<TrainedParameter>& changed) const {
    Graph& graph = entry.graph;
    graph.inputs = entry.inputs;
    for (size_t i = 0; i < changed.size(); ++i) {
      const Value& value = model_.value(changed[i].value);
      const TrainedParameter& p = entry.trained[i];
      add_state(graph, {value.name, p.value, p.updated, value.constant}, p.updated);
    }
    for (const OptimizerState& s : entry.states) add_state(graph, {s.name, s.in, s.out, s.initial}, s.out);
    return std::move(graph);
  }

  /// Entries share states by name, so a state of the step that has another name in the replicas' entries would be lost.
  void check_names(const Graph& step) const {
    std::set<std::string> known;
    for (const Graph& replica : replicas_)
      for (const State& state : replica.states) known.insert(state.name);
    for (const State& state : step.states)
      if (!replicas_.empty() && known.count(state.name) == 0)
        fail("--train: replicas=on: the model has a value with the name of a state, which became '", state.name, "'");
  }

  void optimize(Graph& graph, std::vector<TrainedParameter>& trained, std::optional<LossScale>& scale) {
    std::optional<Accumulation> accumulation;
    if (options_.accumulate > 1) {
      accumulation.emplace(graph, options_.accumulate);
      for (TrainedParameter& p : trained) accumulation->add(p);
    }
    if (options_.checks_finite) check_finite(graph, trained, scale ? scale->scale() : ValueId());
    if (scale) scale->test(trained);
    const size_t before = graph.inputs.size();
    std::vector<OptimizerState> states = add_optimizer(graph, options_.optimizer, options_.clip, trained);
    if (options_.optimizer.rate_is_input) rate_ = graph.inputs[before];
    if (scale) scale->finish(trained, states);
    if (accumulation) accumulation->finish(trained, states);
    for (const TrainedParameter& p : trained) {
      const Value& value = model_.value(p.value);
      shared_.push_back({value.name, p.value, p.updated, value.constant});
    }
    shared_.insert(shared_.end(), statistics_.begin(), statistics_.end());
    changing_ = shared_;
    for (const OptimizerState& s : states) changing_.push_back({s.name, s.in, s.out, s.initial});
  }

  /// The model, or its loss. Parameters and statistics are states that the entry only reads.
  Graph make_reader(const char* name, bool with_loss) {
    Graph graph = model_.clone();
    graph.name = name;
    stop_dropout(graph);
    use_running_statistics(graph, running_);
    if (with_loss) {
      keep_loss_argument(graph, options_.loss);
      eliminate_dead_code(graph);
    }
    for (const Changing& c : shared_) {
      capture_parameter(graph, c.initial.get(), c.in);
      graph.value(c.in).constant = nullptr;
    }
    if (with_loss) add_loss(graph, options_.loss);
    for (const Changing& c : shared_) add_state(graph, c, {});
    return graph;
  }

  /// `out`: invalid if the entry only reads the value.
  void add_state(Graph& graph, const Changing& c, ValueId out) const {
    State state;
    state.name = c.name;
    state.input = graph.inputs.size();
    state.output = out.valid() ? graph.outputs.size() : kNotWritten;
    state.scope = StateScope::program;
    state.initial = c.initial;
    graph.inputs.push_back(c.in);
    const bool is_callers = options_.states == StateOwner::caller;
    if (out.valid() && is_callers) {
      FormulaWriter named(graph, graph, concat(c.name, ".new"));
      out = named.make("Identity", {named.of(out)}).id;
    }
    if (out.valid()) graph.outputs.push_back(out);
    if (!is_callers) graph.states.push_back(std::move(state));
  }

  const TrainOptions& options_;
  Graph model_;
  std::set<ValueId> candidates_, frozen_, running_;  // running_: statistics of BatchNormalization
  std::vector<Changing> statistics_, shared_, changing_;
  ValueId rate_;
  std::vector<Graph> replicas_;
  TrainedParameters report_;
};

}  // namespace

std::vector<Graph> TrainingEntries::take_others() {
  std::vector<Graph> others;
  others.push_back(std::move(train));
  others.push_back(std::move(evaluate));
  std::move(replicas.begin(), replicas.end(), std::back_inserter(others));
  return others;
}

TrainingEntries make_training_entries(Graph model, const std::set<std::string>& parameters,
                                      const TrainOptions& options) {
  return EntriesMaker(std::move(model), parameters, options).make();
}

}  // namespace gcg
