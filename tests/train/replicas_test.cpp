// The entries for replicas, and the check for numbers that are not finite, in the interpreter.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/mode_rules.h"
#include "compiler/support/error.h"
#include "tests/train/entry_runs.h"

namespace gcg {
namespace {

const char* kLinear = R"(graph linear(%x: f64[batch,3]) -> (%y) {
  constant %w: f64[3,1] = {0.5, -1, 2}
  constant %b: f64[1] = {0.25}
  %p = MatMul(%x, %w)
  %y = Add(%p, %b)
})";
const char* kDropout = R"(graph dropout(%x: f64[batch,3]) -> (%y) {
  constant %w: f64[3] = {0.5, -1, 2}
  constant %ratio: f32[] = {0.5}
  %p = Mul(%x, %w)
  %y = gart.TrainingDropout(%p, %ratio)
})";
const char* kNorm = R"(graph norm(%x: f64[n,2]) -> (%loss) {
  constant %scale: f64[2] = {1, 1}
  constant %bias: f64[2] = {0, 0}
  constant %mean: f64[2] = {0, 0}
  constant %variance: f64[2] = {1, 1}
  %y = BatchNormalization(%x, %scale, %bias, %mean, %variance)
  %loss = ReduceMean(%y) {keepdims = 0}
})";

std::string refusal(const std::string& text, const std::string& options) {
  try {
    entries(text, options);
  } catch (const CompileError& error) {
    return error.what();
  }
  return "made";
}

Named batch_of(int64_t number, int64_t rows, int64_t columns) {
  Tensor x(DType::f64, {rows, 3}), t(DType::f64, {rows, columns});
  for (int64_t i = 0; i < x.elements(); ++i) x.set_double(i, std::sin(static_cast<double>(number * 100 + i)));
  for (int64_t i = 0; i < t.elements(); ++i) t.set_double(i, std::cos(static_cast<double>(number * 77 + i)));
  return {{"x", x}, {"t", t}};
}

std::vector<Named> gradients_of(const TrainingEntries& made, int64_t group, int64_t size, int64_t columns,
                                Named& states) {
  std::vector<Named> found;
  for (int64_t i = 0; i < size; ++i) {
    Named in = batch_of(group * size + i, 4 + i, columns);
    in.insert_or_assign("replica", scalar_tensor(DType::i64, static_cast<double>(i)));
    found.push_back(run(replica_entry(made, "gradients"), in, states));
  }
  return found;
}

/// A group of replicas must change the states as an accumulating step over the same batches does.
TEST(Replicas, EqualAccumulatedSteps) {
  for (const char* text : {kLinear, kDropout})
    for (const char* optimizer : {"sgd(lr=0.1)", "adamw(lr=0.1)", "momentum(lr=0.1),clip=0.5", "adagrad"})
      for (int64_t size = 1; size < 5; ++size) {
        const TrainingEntries made =
            entries(text, concat("loss=mse(y,t),optimizer=", optimizer, ",accumulate=", size, ",replicas=on"));
        const int64_t columns = text == kLinear ? 1 : 3;
        Named alone, shared;
        for (int64_t group = 0; group < 3; ++group) {
          std::vector<Named> found = gradients_of(made, group, size, columns, shared);
          for (int64_t i = 0; i < size; ++i) {
            const Named out = run(made.train, batch_of(group * size + i, 4 + i, columns), alone);
            EXPECT_EQ(out.at("loss").at_double(0), found[static_cast<size_t>(i)].at("loss").at_double(0));
          }
          update_group(made, found, shared);
          expect_same(alone, shared);
        }
      }
}

/// A group that is not complete leaves the states of as many accumulating steps. No parameter is among them.
TEST(Replicas, AccumulateWithoutParameters) {
  for (const char* text : {kLinear, kDropout}) {
    const TrainingEntries made = entries(text, "loss=mse(y,t),optimizer=adam(lr=0.1),accumulate=3,replicas=on");
    const int64_t columns = text == kLinear ? 1 : 3;
    Named alone, shared;
    std::vector<Named> found = gradients_of(made, 0, 3, columns, shared);
    for (int64_t i = 0; i < 2; ++i) {
      Named& own = found[static_cast<size_t>(i)];
      own.insert_or_assign("share", scalar_tensor(DType::f64, 1.0 / 3));
      run(replica_entry(made, "accumulate"), own, shared);
      run(made.train, batch_of(i, 4 + i, columns), alone);
      expect_same(shared, alone);
    }
    for (const State& state : replica_entry(made, "accumulate").states)
      EXPECT_TRUE(state.name == "accumulated" || state.name == "random.state" || state.name.ends_with(".gradient"));
  }
}

TEST(Replicas, NameWhatTheyCannotShare) {
  EXPECT_EQ(refusal(kNorm, "loss=loss,optimizer=sgd,replicas=on"),
            "--train: replicas=on: node 'y' updates statistics of its batch ('mean'); exchange them "
            "(batch_statistics=exchanged), freeze them, or leave out replicas");
  EXPECT_EQ(refusal(kNorm, "loss=loss,optimizer=sgd,replicas=on,frozen=mean,frozen=variance"), "made");
  EXPECT_EQ(refusal(kLinear, "loss=mse(y,t),optimizer=sgd,replicas=on,states=caller"),
            "--train: replicas=on shares the states of a program, so it excludes states=caller");
  EXPECT_EQ(refusal(kLinear, "loss=mse(y,t),optimizer=sgd,replicas=2"), "--train: replicas is '2', expected on or off");
}

TEST(ModeRules, FollowTheTaskAndTheTrait) {
  const auto rules = [](const char* text, const std::string& words) {
    const TrainOptions options = parse_train_options("loss=mse(y,t),optimizer=sgd" + words);
    TrainingEntries made = make_training_entries(parse_graph(text), {}, options);
    const Graph infer = std::move(made.infer);
    const std::vector<Graph> others = made.take_others();
    const std::vector<ModeRule> all = mode_rules(infer, others, &options, &made.report);
    EXPECT_EQ(all.size(), others.size() + 1);
    EXPECT_EQ(all[0], ModeRule::costs);
    EXPECT_EQ(all[2], ModeRule::costs);  // evaluate
    return all;
  };
  EXPECT_EQ(rules(kLinear, "")[1], ModeRule::costs);
  EXPECT_EQ(rules(kLinear, ",async")[1], ModeRule::asynchronous);
  EXPECT_EQ(rules(kLinear, ",sync")[1], ModeRule::synchronous);
  EXPECT_EQ(rules(kNorm, "")[1], ModeRule::batch_statistics);
  EXPECT_EQ(rules(kNorm, ",sync")[1], ModeRule::batch_statistics);
  EXPECT_EQ(rules(kNorm, ",async")[1], ModeRule::asynchronous);
  EXPECT_EQ(rules(kNorm, ",frozen=mean,frozen=variance,sync")[1], ModeRule::synchronous);
  const std::vector<ModeRule> all = rules(kLinear, ",sync,replicas=on");
  ASSERT_EQ(all.size(), 7u);
  EXPECT_EQ(all[3], ModeRule::synchronous);  // gradients
  EXPECT_EQ(all[4], ModeRule::costs);        // update
}

/// The message of a step with this first element of x, or "done".
std::string step(const Graph& train, double first) {
  Named in = batch_of(0, 4, 1), states;
  in.at("x").set_double(0, first);
  try {
    run(train, in, states);
  } catch (const CompileError& error) {
    return error.what();
  }
  return "done";
}

TEST(CheckFinite, NamesTheFirstTensor) {
  const std::string options = "loss=mse(y,t),optimizer=adam(lr=0.1)", checked = options + ",check=finite";
  const Graph train = entries(kLinear, checked).train;
  EXPECT_EQ(train.value(train.outputs[0]).name, "loss");
  EXPECT_EQ(step(train, 1), "done");
  EXPECT_EQ(step(train, std::nan("")), "the loss is NaN or infinite; the states keep their values");
  EXPECT_EQ(step(train, INFINITY), "the loss is NaN or infinite; the states keep their values");
  EXPECT_EQ(step(entries(kLinear, options).train, INFINITY), "done");
  // The root's slope at 0 is infinite, but the loss is 0.
  const char* root = R"(graph root(%x: f64[batch,3]) -> (%loss) {
    constant %v: f64[] = {1}
    constant %w: f64[] = {0}
    %p = ReduceSum(%x) {keepdims = 0}
    %q = Mul(%p, %w)
    %a = Mul(%q, %q)
    %r = Sqrt(%a)
    %s = Mul(%r, %v)
    %loss = Identity(%s)
  })";
  EXPECT_EQ(step(entries(root, "loss=loss,optimizer=sgd,check=finite").train, 1),
            "the norm of the gradient of 'w' is NaN or infinite; the states keep their values");
}

TEST(CheckFinite, ChangesNoNumber) {
  for (const char* more : {"", ",clip=0.5", ",accumulate=2"}) {
    const std::string options = concat("loss=mse(y,t),optimizer=adam(lr=0.1)", more);
    const Graph plain = entries(kLinear, options).train, checked = entries(kLinear, options + ",check=finite").train;
    Named of_plain, of_checked;
    for (int64_t i = 0; i < 5; ++i) {
      const Tensor a = run(plain, batch_of(i, 4, 1), of_plain).at("loss");
      EXPECT_EQ(a.at_double(0), run(checked, batch_of(i, 4, 1), of_checked).at("loss").at_double(0)) << more;
    }
    expect_same(of_plain, of_checked);
  }
}

}  // namespace
}  // namespace gcg
