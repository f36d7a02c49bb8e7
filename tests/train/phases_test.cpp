// Replicas that exchange the statistics of their batches, in the interpreter.
#include "compiler/train/phases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/mode_rules.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"
#include "tests/train/entry_runs.h"

namespace gcg {
namespace {

/// Two normalisations in a row, so that statistics depend on statistics.
const char* kNet = R"(graph net(%x: f64[batch,3]) -> (%y) {
  constant %w: f64[3,2] = {0.5, -1, 2, 0.25, -0.75, 1}
  constant %s0: f64[2] = {1.5, 0.5}
  constant %o0: f64[2] = {0.25, -0.5}
  constant %m0: f64[2] = {0, 0}
  constant %v0: f64[2] = {1, 1}
  constant %u: f64[2,2] = {1, -0.5, 0.25, 2}
  constant %s1: f64[2] = {1, 2}
  constant %o1: f64[2] = {0, 1}
  constant %m1: f64[2] = {0, 0}
  constant %v1: f64[2] = {1, 1}
  %p = MatMul(%x, %w)
  %n = BatchNormalization(%p, %s0, %o0, %m0, %v0)
  %r = Tanh(%n)
  %q = MatMul(%r, %u)
  %y = BatchNormalization(%q, %s1, %o1, %m1, %v1)
})";

constexpr int64_t kRows = 5;

Tensor rows_of(int64_t first, int64_t count, int64_t columns, double factor) {
  Tensor t(DType::f64, {count, columns});
  for (int64_t i = 0; i < t.elements(); ++i)
    t.set_double(i, std::sin(factor * static_cast<double>(first * columns + i)));
  return t;
}

Named batch_of(int64_t first, int64_t count) {
  return {{"x", rows_of(first, count, 3, 1.7)}, {"t", rows_of(first, count, 2, 0.9)}};
}

/// The shares of all replicas, one after the other.
Tensor stacked(const std::vector<Named>& replicas, const std::string& name) {
  const Tensor& one = replicas[0].at(name);
  std::vector<int64_t> shape = one.shape();
  shape.insert(shape.begin(), static_cast<int64_t>(replicas.size()));
  Tensor all(DType::f64, shape);
  for (size_t r = 0; r < replicas.size(); ++r)
    for (int64_t i = 0; i < one.elements(); ++i)
      all.set_double(static_cast<int64_t>(r) * one.elements() + i, replicas[r].at(name).at_double(i));
  return all;
}

/// Runs all phases of all replicas. The results are named values of each replica.
std::vector<Named> run_phases(const TrainingEntries& made, std::vector<Named> replicas, Named& states) {
  for (const Graph& phase : made.replicas) {
    if (!phase.name.starts_with("gradients")) continue;
    std::map<std::string, Tensor> shares;
    for (ValueId in : phase.inputs) {
      const std::string& name = phase.value(in).name;
      if (name.starts_with(kExchanged))
        shares[name] = stacked(replicas, kPartial + name.substr(std::string(kExchanged).size()));
    }
    for (Named& replica : replicas) {
      for (const auto& [name, tensor] : shares) replica.insert_or_assign(name, tensor);
      for (auto& [name, tensor] : run(phase, replica, states)) replica.insert_or_assign(name, tensor);
    }
  }
  return replicas;
}

/// Steps of `count` replicas equal steps of one replica with the whole batch.
void expect_whole_batch(int64_t count, const std::string& options) {
  const std::string all = concat("loss=mse(y,t),", options, ",replicas=on,batch_statistics=exchanged");
  const TrainingEntries made = entries(kNet, all);
  Named whole, shared;
  for (int64_t step = 0; step < 4; ++step) {
    std::vector<Named> replicas;
    for (int64_t r = 0; r < count; ++r) replicas.push_back(batch_of((step * count + r) * kRows, kRows));
    replicas = run_phases(made, std::move(replicas), shared);
    const double loss = run(made.train, batch_of(step * count * kRows, count * kRows), whole).at("loss").at_double(0);
    double mean = 0;
    for (const Named& replica : replicas)
      mean += replica.at("loss").at_double(0) / static_cast<double>(replicas.size());
    EXPECT_NEAR(mean, loss, 1e-12);
    update_group(made, replicas, shared);
    for (const auto& [name, tensor] : whole)
      for (int64_t i = 0; i < tensor.elements(); ++i)
        EXPECT_NEAR(shared.at(name).at_double(i), tensor.at_double(i), 1e-10) << name << '[' << i << ']';
  }
  EXPECT_GT(std::abs(shared.at("m1").at_double(0)), 1e-5);
}

TEST(Phases, EqualTheWholeBatch) {
  for (int64_t count = 1; count < 5; ++count)
    for (const char* optimizer : {"optimizer=sgd(lr=0.1)", "optimizer=adamw(lr=0.05),clip=0.5"})
      expect_whole_batch(count, optimizer);
}

/// Each of two normalisations exchanges twice in the forward pass and twice in the backward pass.
TEST(Phases, BeginAtExchanges) {
  const TrainingEntries made = entries(kNet, "loss=mse(y,t),optimizer=sgd,replicas=on,batch_statistics=exchanged");
  std::vector<std::string> names;
  for (const Graph& graph : made.replicas) names.push_back(graph.name);
  EXPECT_EQ(names.front(), "gradients");
  EXPECT_EQ(std::count_if(names.begin(), names.end(), [](const auto& n) { return n.starts_with("gradients."); }), 8);
  for (const Graph& graph : made.replicas)
    for (NodeId id : graph.order()) EXPECT_STRNE(graph.node(id).op->name, "Exchange");
  for (NodeId id : made.train.order()) EXPECT_STRNE(made.train.node(id).op->name, "Exchange");
}

TEST(Phases, HaveARuleOfTheirOwn) {
  const TrainOptions options =
      parse_train_options("loss=mse(y,t),optimizer=sgd,replicas=on,batch_statistics=exchanged");
  TrainingEntries made = make_training_entries(parse_graph(kNet), {}, options);
  const Graph infer = std::move(made.infer);
  const TrainedParameters report = made.report;
  const std::vector<Graph> others = made.take_others();
  const std::vector<ModeRule> rules = mode_rules(infer, others, &options, &report);
  for (size_t i = 0; i < others.size(); ++i) {
    const ModeRule want = others[i].name == "train"                 ? ModeRule::batch_statistics
                          : others[i].name.starts_with("gradients") ? ModeRule::exchanged_statistics
                                                                    : ModeRule::costs;
    EXPECT_EQ(rules[i + 1], want) << others[i].name;
  }
}

TEST(Phases, NameWhatDoesNotFit) {
  const auto refusal = [](const std::string& options) -> std::string {
    try {
      entries(kNet, "loss=mse(y,t),optimizer=sgd," + options);
    } catch (const CompileError& error) {
      return error.what();
    }
    return "made";
  };
  EXPECT_EQ(refusal("batch_statistics=exchanged"),
            "--train: batch_statistics=exchanged is for replicas, so it needs replicas=on");
  EXPECT_EQ(refusal("replicas=on,async,batch_statistics=exchanged"),
            "--train: batch_statistics=exchanged needs replicas that run together, so it excludes async");
  EXPECT_EQ(refusal("replicas=on,batch_statistics=all"),
            "--train: batch_statistics is 'all', expected exchanged or own");
}

}  // namespace
}  // namespace gcg
