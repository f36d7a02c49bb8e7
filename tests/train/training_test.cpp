// The entries that --train adds: what they contain, what they refuse, and steps of optimizers compared with plain
// loops.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "compiler/gir/gir.h"
#include "compiler/ir/states.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/sink_constants.h"
#include "compiler/reference/interpreter.h"
#include "compiler/support/error.h"
#include "compiler/train/training_entries.h"

namespace gcg {
namespace {

const char* kLinear = R"(graph linear(%x: f64[batch,3]) -> (%y) {
  constant %w: f64[3,1] = {0.5, -1, 2}
  constant %b: f64[1] = {0.25}
  constant %unused: f64[1] = {1}
  %p = MatMul(%x, %w)
  %y = Add(%p, %b)
  %z = Add(%p, %unused)
})";

TrainingEntries entries(const std::string& text, const std::string& options,
                        const std::set<std::string>& parameters = {}) {
  return make_training_entries(parse_graph(text), parameters, parse_train_options(options));
}

std::string refusal(const std::string& text, const std::string& options, const std::set<std::string>& parameters = {}) {
  try {
    entries(text, options, parameters);
  } catch (const CompileError& error) {
    return error.what();
  }
  return "made";
}

std::vector<std::string> names(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> all;
  for (ValueId v : values) all.push_back(graph.value(v).name);
  return all;
}

TEST(TrainingEntries, ShareStates) {
  const TrainingEntries made = entries(kLinear, "loss=mse(y,target),optimizer=momentum(lr=input)");
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(made.train, made.train.inputs), (Names{"x", "target", "lr", "w", "b", "w.momentum", "b.momentum"}));
  EXPECT_EQ(made.train.outputs.size(), 5u);
  EXPECT_EQ(made.train.value(made.train.outputs[0]).name, "loss");
  EXPECT_EQ(names(made.infer, made.infer.inputs), (Names{"x", "w", "b"}));
  EXPECT_EQ(names(made.infer, made.infer.outputs), Names{"y"});
  EXPECT_EQ(names(made.evaluate, made.evaluate.inputs), (Names{"x", "target", "w", "b"}));
  EXPECT_EQ(names(made.evaluate, made.evaluate.outputs), Names{"loss"});
  ASSERT_EQ(made.train.states.size(), 4u);
  for (const State& s : made.train.states) {
    EXPECT_EQ(s.scope, StateScope::program);
    EXPECT_TRUE(is_written(s)) << s.name;
    ASSERT_TRUE(s.initial) << s.name;
  }
  EXPECT_EQ(made.train.states[0].initial->at_double(1), -1);
  EXPECT_EQ(made.train.states[2].initial->at_double(1), 0);
  for (const State& s : made.infer.states) EXPECT_FALSE(is_written(s)) << s.name;
  EXPECT_EQ(made.report.trained, 2);
  EXPECT_EQ(made.report.elements, 4);
}

TEST(TrainingEntries, KeepFrozenParameters) {
  const TrainingEntries made = entries(kLinear, "loss=mse(y,t),optimizer=sgd,frozen=b*");
  EXPECT_EQ(made.train.states.size(), 1u);
  EXPECT_EQ(made.report.frozen, 1);
  EXPECT_EQ(entries(kLinear, "loss=mse(y,t),optimizer=sgd", {"b"}).train.states[0].name, "b");
}

/// The losses of five steps on one batch.
std::vector<double> losses(const std::string& optimizer) {
  TrainingEntries made = entries(kLinear, concat("loss=mse(y,t),optimizer=", optimizer));
  std::vector<Tensor> in = {Tensor(DType::f64, {4, 3}), Tensor(DType::f64, {4, 1})};
  for (int64_t i = 0; i < 12; ++i) in[0].set_double(i, std::sin(static_cast<double>(i)));
  for (int64_t i = 0; i < 4; ++i) in[1].set_double(i, static_cast<double>(i));
  for (const State& s : made.train.states) in.push_back(*s.initial);
  infer_graph(made.train);
  std::vector<double> all;
  for (int step = 0; step < 5; ++step) {
    const std::vector<Tensor> out = interpret(made.train, in);
    all.push_back(out[0].at_double(0));
    for (size_t i = 0; i < made.train.states.size(); ++i) in[2 + i] = out[1 + i];
  }
  return all;
}

/// One step on one number: (value, gradient, optimizer state of the number, step number from 1) -> value.
using Step = std::function<double(double, double, std::vector<double>&, int)>;

std::vector<double> plain_losses(const Step& step) {
  std::vector<double> p = {0.5, -1, 2, 0.25}, all;
  std::vector<std::vector<double>> memory(4, std::vector<double>(2, 0));
  for (int t = 1; t <= 5; ++t) {
    double loss = 0;
    std::vector<double> g(4, 0);
    for (int row = 0; row < 4; ++row) {
      const auto x = [&](int k) { return k == 3 ? 1.0 : std::sin(static_cast<double>(row * 3 + k)); };
      double error = -row;
      for (int k = 0; k < 4; ++k) error += x(k) * p[static_cast<size_t>(k)];
      loss += error * error / 4;
      for (int k = 0; k < 4; ++k) g[static_cast<size_t>(k)] += error * x(k) / 2;
    }
    all.push_back(loss);
    for (size_t k = 0; k < 4; ++k) p[k] = step(p[k], g[k], memory[k], t);
  }
  return all;
}

void expect_same(const std::string& optimizer, const Step& step) {
  const std::vector<double> got = losses(optimizer), want = plain_losses(step);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-7 * (1 + want[i])) << optimizer << ", " << i;
}

TEST(Optimizers, EqualPlainLoops) {
  using Memory = std::vector<double>;
  expect_same("sgd(lr=0.1,weight_decay=0.2)", [](double x, double g, Memory&, int) { return x - 0.1 * (g + 0.2 * x); });
  expect_same("momentum(lr=0.1)", [](double x, double g, Memory& m, int) { return x - 0.1 * (m[0] = 0.9 * m[0] + g); });
  expect_same("momentum(lr=0.1,nesterov=1,momentum=0.5)", [](double x, double g, Memory& m, int) {
    m[0] = 0.5 * m[0] + g;
    return x - 0.1 * (g + 0.5 * m[0]);
  });
  const auto adam = [](double x, double g, Memory& m, int t) {
    m[0] = 0.9 * m[0] + 0.1 * g;
    m[1] = 0.999 * m[1] + 0.001 * g * g;
    return x - 0.1 / (1 - std::pow(0.9, t)) * m[0] / (std::sqrt(m[1]) / std::sqrt(1 - std::pow(0.999, t)) + 1e-8);
  };
  expect_same("adam(lr=0.1)", adam);
  expect_same("adamw(lr=0.1,weight_decay=0.5)",
              [&](double x, double g, Memory& m, int t) { return adam(x * (1 - 0.1 * 0.5), g, m, t); });
  expect_same("adagrad(lr=0.1,lr_decay=0.5)", [](double x, double g, Memory& m, int t) {
    m[0] += g * g;
    return x - 0.1 / (1 + (t - 1) * 0.5) * g / (std::sqrt(m[0]) + 1e-10);
  });
}

/// The product and the sum are in the subgraphs of If and Loop, which hold the parameters as their own constants.
TEST(TrainingEntries, TrainParametersOfSubgraphs) {
  const std::string nested = R"(graph nested(%x: f64[batch,3], %yes: bool[]) -> (%y) {
    constant %w: f64[3,1] = {0.5, -1, 2}
    constant %b: f64[1] = {0.25}
    constant %once: i64[] = {1}
    constant %zero: f64[1] = {0}
    %p = If(%yes | %x, %w) graph then(%x: f64[batch,3], %w: f64[3,1]) -> (%p) {
      %p = MatMul(%x, %w)
    } graph else(%x: f64[batch,3], %w: f64[3,1]) -> (%p) {
      %n = Neg(%x)
      %p = MatMul(%n, %w)
    }
    %y = Loop(%once, _, %p | %b) graph body(%i: i64[], %c: bool[], %p: f64[batch,1], %b: f64[1]) -> (%c2, %q) {
      %c2 = Identity(%c)
      %q = Add(%p, %b)
    }
  })";
  Graph model = parse_graph(nested);
  sink_constants(model);
  TrainingEntries made =
      make_training_entries(std::move(model), {"w", "b"}, parse_train_options("loss=mse(y,t),optimizer=sgd(lr=0.1)"));
  ASSERT_EQ(made.report.trained, 2);
  infer_graph(made.train);
  std::vector<Tensor> in = {Tensor(DType::f64, {4, 3}), Tensor(DType::boolean, {}), Tensor(DType::f64, {4, 1})};
  for (int64_t i = 0; i < 12; ++i) in[0].set_double(i, std::sin(static_cast<double>(i)));
  in[1].set_int(0, 1);
  for (int64_t i = 0; i < 4; ++i) in[2].set_double(i, static_cast<double>(i));
  for (const State& s : made.train.states) in.push_back(*s.initial);
  const std::vector<double> want = losses("sgd(lr=0.1)");
  for (double loss : want) {
    const std::vector<Tensor> out = interpret(made.train, in);
    EXPECT_NEAR(out[0].at_double(0), loss, 1e-7);
    for (size_t i = 0; i < made.train.states.size(); ++i) in[3 + i] = out[1 + i];
  }
}

/// Runs steps of an entry whose first inputs are `in`, and whose states follow.
std::vector<std::vector<Tensor>> steps(const Graph& entry, std::vector<Tensor> in, int count) {
  const size_t own = in.size();
  for (const State& s : entry.states) in.push_back(*s.initial);
  std::vector<std::vector<Tensor>> all;
  for (int step = 0; step < count; ++step) {
    all.push_back(interpret(entry, in));
    for (size_t i = 0; i < entry.states.size(); ++i)
      if (is_written(entry.states[i])) in[own + i] = all.back()[entry.states[i].output];
  }
  return all;
}

Tensor ones(const std::vector<int64_t>& shape) {
  Tensor t(DType::f64, shape);
  for (int64_t i = 0; i < t.elements(); ++i) t.set_double(i, 1);
  return t;
}

/// Steps over parts of a batch with accumulated gradients must equal one step over the whole batch.
TEST(Accumulation, EqualsOneStepOverTheBatch) {
  for (const char* optimizer : {"sgd(lr=0.1)", "adam(lr=0.1)", "momentum(lr=0.1),clip=0.5"}) {
    const std::string options = concat("loss=mse(y,t),optimizer=", optimizer);
    Graph whole = entries(kLinear, options).train, parts = entries(kLinear, options + ",accumulate=3").train;
    infer_graph(whole);
    infer_graph(parts);
    const auto first = [](const Graph& g) {
      std::vector<Tensor> in;
      for (const State& s : g.states) in.push_back(*s.initial);
      return in;
    };
    std::vector<Tensor> of_whole = first(whole), of_parts = first(parts);
    const auto run = [](const Graph& g, std::vector<Tensor>& states, int64_t from, int64_t rows) {
      std::vector<Tensor> in = {Tensor(DType::f64, {rows, 3}), Tensor(DType::f64, {rows, 1})};
      for (int64_t i = 0; i < rows * 3; ++i) in[0].set_double(i, std::sin(static_cast<double>(from * 3 + i)));
      for (int64_t i = 0; i < rows; ++i) in[1].set_double(i, static_cast<double>((from + i) % 5));
      in.insert(in.end(), states.begin(), states.end());
      const std::vector<Tensor> out = interpret(g, in);
      states.assign(out.begin() + 1, out.end());
    };
    for (int64_t step = 0; step < 3; ++step) {
      run(whole, of_whole, 6 * step, 6);
      const Tensor before = of_parts[0];
      for (int64_t part = 0; part < 3; ++part) {
        run(parts, of_parts, 6 * step + 2 * part, 2);
        if (part < 2) EXPECT_EQ(of_parts[0].at_double(0), before.at_double(0));
      }
      for (size_t s = 0; s < of_whole.size(); ++s)
        for (int64_t i = 0; i < of_whole[s].elements(); ++i) {
          ASSERT_EQ(whole.states[s].name, parts.states[s].name);
          EXPECT_NEAR(of_whole[s].at_double(i), of_parts[s].at_double(i), 1e-12)
              << optimizer << ", " << whole.states[s].name;
        }
    }
  }
}

/// The loss is the mean of elements that are 0 or 1 / (1 - ratio), because the learning rate 0 keeps w = 1.
const char* kDropout = R"(graph dropout(%x: f64[batch,n]) -> (%y, %loss) {
  constant %w: f64[] = {1}
  constant %ratio: f32[] = {0.25}
  constant %mode: bool[] = {1}
  %p = Mul(%x, %w)
  %y = DROP
  %loss = ReduceMean(%y) {keepdims = 0}
})";

TEST(Dropout, DropsElementsInTrainingOnly) {
  for (const char* node :
       {"Dropout(%p, %ratio)", "gart.TrainingDropout(%p, %ratio)", "gart.TrainingDropout(%p, %ratio, %mode)"}) {
    std::string text = kDropout;
    text.replace(text.find("DROP"), 4, node);
    TrainingEntries made = entries(text, "loss=loss,optimizer=sgd(lr=0)");
    EXPECT_EQ(made.report.dropouts.size(), 1u) << node;
    ASSERT_EQ(made.train.states.size(), 2u) << node;
    EXPECT_EQ(made.train.states[1].name, "random.state");
    EXPECT_EQ(made.infer.states.size(), 1u);
    for (Graph* g : {&made.train, &made.infer, &made.evaluate}) infer_graph(*g);
    const auto trained = steps(made.train, {ones({50, 200})}, 3);
    std::set<double> losses;
    for (const auto& out : trained) {
      losses.insert(out[0].at_double(0));
      EXPECT_NEAR(out[0].at_double(0), 1, 0.02) << node;  // 4 sigma is 0.023 * sqrt(1/3)
    }
    EXPECT_EQ(losses.size(), 3u) << node;
    EXPECT_EQ(trained[2][2].at_int(1), 3);  // finished steps
    EXPECT_EQ(steps(made.infer, {ones({2, 3})}, 1)[0][0].at_double(5), 1) << node;
    EXPECT_EQ(steps(made.evaluate, {ones({2, 3})}, 1)[0][0].at_double(0), 1) << node;
    TrainingEntries off = entries(text, "loss=loss,optimizer=sgd(lr=0),dropout=off");
    EXPECT_EQ(off.train.states.size(), 1u) << node;
    infer_graph(off.train);
    EXPECT_EQ(steps(off.train, {ones({2, 3})}, 1)[0][0].at_double(0), 1) << node;
  }
}

/// Each iteration of a loop must draw its own numbers, and so must each step.
TEST(Dropout, DrawsAnewInEachIteration) {
  TrainingEntries made = entries(R"(graph g(%x: f64[n], %count: i64[]) -> (%loss) {
    constant %w: f64[] = {1}
    constant %zero: f64[] = {0}
    %p = Mul(%x, %w)
    %s, %all = Loop(%count, _, %p) graph body(%i: i64[], %c: bool[], %v: f64[n]) -> (%c2, %v2, %sum) {
      %c2 = Identity(%c)
      %v2 = Identity(%v)
      %d = gart.TrainingDropout(%v)
      %sum = ReduceSum(%d) {keepdims = 0}
    }
    %total = ReduceMax(%all) {keepdims = 0}
    %least = ReduceMin(%all) {keepdims = 0}
    %loss = Sub(%total, %least)
  })",
                                 "loss=loss,optimizer=sgd(lr=0)");
  infer_graph(made.train);
  Tensor count(DType::i64, {});
  count.set_int(0, 8);
  std::set<double> losses;
  for (const auto& out : steps(made.train, {ones({1000}), count}, 4)) losses.insert(out[0].at_double(0));
  EXPECT_EQ(losses.count(0), 0u);  // 0 would mean that all iterations drop the same number of elements
  EXPECT_GE(losses.size(), 3u);
}

/// A model that was exported in training mode: `infer` uses the running statistics if they are parameters.
TEST(TrainingEntries, UseRunningStatisticsInInference) {
  TrainingEntries made = entries(R"(graph norm(%x: f64[n,2]) -> (%y, %loss) {
    constant %scale: f64[2] = {1, 1}
    constant %bias: f64[2] = {0, 0}
    constant %mean: f64[2] = {10, 20}
    constant %variance: f64[2] = {1, 4}
    %y, %m, %v = gart.TrainingBatchNormalization(%x, %scale, %bias, %mean, %variance) {epsilon = 1e-14}
    %loss = ReduceMean(%y) {keepdims = 0}
  })",
                                 "loss=loss,optimizer=sgd(lr=0)");
  EXPECT_EQ(made.report.statistics, 2);
  infer_graph(made.infer);
  const Tensor y = steps(made.infer, {ones({3, 2})}, 1)[0][0];
  EXPECT_NEAR(y.at_double(0), -9, 1e-12);
  EXPECT_NEAR(y.at_double(1), -9.5, 1e-12);
}

TEST(TrainOptions, NameTheMistake) {
  const auto message = [](const std::string& text) { return refusal(kLinear, text); };
  EXPECT_EQ(message("optimizer=sgd"),
            "--train optimizer=sgd: loss= is missing, for example loss=cross_entropy(logits,labels)");
  EXPECT_EQ(message("loss=mse(y,t)"),
            "--train loss=mse(y,t): optimizer= is missing, for example optimizer=adamw(lr=0.001)");
  EXPECT_EQ(message("loss=mse(y,t),optimizer=lion"),
            "--train: the optimizer 'lion' is not known; expected sgd, momentum, adam, adamw or adagrad");
  EXPECT_EQ(
      message("loss=huber(y,t),optimizer=sgd"),
      "--train: the loss 'huber' is not known; expected cross_entropy, mse, bce_with_logits, l1, or the name of a "
      "value of the model");
  EXPECT_EQ(message("loss=mse(y),optimizer=sgd"),
            "--train: the loss mse takes a prediction and a target, and has 1 argument");
  EXPECT_EQ(message("loss=mse(y,t),optimizer=adam(beta=0.9)"),
            "--train: the optimizer adam has no option 'beta'; the nearest: 'beta1', 'beta2', 'eps'");
  EXPECT_EQ(message("loss=mse(y,t),optimizer=adam(beta1=1)"),
            "--train: beta1 is 1, expected a number from 0 to below 1");
  EXPECT_EQ(message("loss=mse(y,t),optimizer=sgd(lr=fast)"), "--train: lr is 'fast', expected a number");
  EXPECT_EQ(message("loss=mse(y,t),optimizer=sgd,frozen"),
            "--train: 'frozen' is not known; expected loss=, optimizer=, "
            "lora(..), frozen=, clip=, accumulate=, states=, dropout=, check=, precision=, replicas=, "
            "batch_statistics=, sync or async");
  EXPECT_EQ(message("loss=mse(y,t),optimizer=sgd,check=nan"), "--train: check is 'nan', expected finite");
  EXPECT_EQ(message("loss=mse(y,t),optimizer=sgd,accumulate=0"),
            "--train: accumulate is 0, expected a number of steps from 1");
  EXPECT_EQ(message("loss=mse(y,t),optimizer=sgd,dropout=0.5"), "--train: dropout is '0.5', expected on or off");
  EXPECT_EQ(message("loss=mse(y,t,optimizer=sgd"), "--train loss=mse(y,t,optimizer=sgd: a bracket is not closed");
}

TEST(TrainingEntries, NameWhatDoesNotFit) {
  EXPECT_EQ(refusal(kLinear, "loss=mse(prediction,t),optimizer=sgd"),
            "--train: the model has no value 'prediction'; the nearest: 'p', 'x', 'y'");
  EXPECT_EQ(refusal(kLinear, "loss=y,optimizer=sgd"),
            "--train: the loss 'y' is f64[batch,1], it must be a float of one element");
  EXPECT_EQ(refusal(kLinear, "loss=mse(y,t:f64[batch,2]),optimizer=sgd"),
            "--train: 't' is f64[batch,2], and the loss mse of 'y' needs extents [batch,1]");
  EXPECT_EQ(refusal(kLinear, "loss=cross_entropy(y,t:f32[batch]),optimizer=sgd"),
            "--train: the labels 't' are f32, they must be integers");
  EXPECT_EQ(refusal(kLinear, "loss=mse(y,t),optimizer=sgd,frozen=*"),
            "--train: the loss depends on no parameter that is not frozen");
  EXPECT_EQ(refusal(kLinear, "loss=mse(y,t),optimizer=sgd,frozen=c*", {"w", "b"}),
            "--train: frozen=c* matches no parameter; the nearest: 'b', 'w'");
}

}  // namespace
}  // namespace gcg
