// precision=f16 and precision=bf16 in training steps, in the interpreter.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"
#include "tests/train/entry_runs.h"

namespace gcg {
namespace {

const char* kLinear = R"(graph linear(%x: f32[batch,3]) -> (%y) {
  constant %w: f32[3,1] = {0.5004, -1.0007, 2.0013}
  constant %b: f32[1] = {0.2503}
  %p = MatMul(%x, %w)
  %y = Add(%p, %b)
})";
/// Its errors are small, so gradients of batches with small targets do not overflow at a scale of 65536.
const char* kSmall = R"(graph small(%x: f32[batch,3]) -> (%y) {
  constant %w: f32[3,1] = {0.05, -0.1, 0.2}
  %y = MatMul(%x, %w)
})";
const char* kBranch = R"(graph branch(%x: f32[batch,3], %yes: bool[]) -> (%y) {
  constant %w: f32[3,1] = {0.5004, -1.0007, 2.0013}
  %y = If(%yes | %x, %w) graph then(%x: f32[batch,3], %w: f32[3,1]) -> (%p) {
    %p = MatMul(%x, %w)
  } graph else(%x: f32[batch,3], %w: f32[3,1]) -> (%p) {
    %n = Neg(%x)
    %p = MatMul(%n, %w)
  }
})";

/// `size`: of the targets; large ones make scaled gradients overflow in f16.
Named batch_of(int64_t seed, double size = 1) {
  Tensor x(DType::f32, {4, 3}), t(DType::f32, {4, 1});
  for (int64_t i = 0; i < x.elements(); ++i) x.set_double(i, std::sin(static_cast<double>(seed * 100 + i)));
  for (int64_t i = 0; i < t.elements(); ++i) t.set_double(i, size * std::cos(static_cast<double>(seed * 77 + i)));
  return {{"x", x}, {"t", t}};
}

double rounded(double value, DType half) {
  Tensor t(half, {});
  t.set_double(0, value);
  return t.at_double(0);
}

double error_of(const Named& batch, const std::vector<double>& w, double b, int64_t row, DType half) {
  double sum = 0;
  for (int64_t k = 0; k < 3; ++k)
    sum += rounded(batch.at("x").at_double(row * 3 + k), half) * rounded(w[static_cast<size_t>(k)], half);
  return rounded(sum, half) + b - batch.at("t").at_double(row);
}

/// One step by hand: operands, the product, and the gradients of both are rounded; the bias and all sums are not.
TEST(MixedPrecision, RoundsProductsAlone) {
  const std::vector<double> w = {0.5004, -1.0007, 2.0013};
  const double b = 0.2503, rate = 0.125;
  for (DType half : {DType::f16, DType::bf16}) {
    const Graph train =
        entries(kLinear, concat("loss=mse(y,t),optimizer=sgd(lr=0.125),precision=", name_of(half))).train;
    Named states;
    const Named batch = batch_of(1);
    const double scale = half == DType::f16 ? 8192 : 1;  // at 65536 the gradients of this step overflow
    if (half == DType::f16) states.emplace("loss_scale", scalar_tensor(DType::f32, scale));
    const Named out = run(train, batch, states);
    double loss = 0, bias = 0;
    std::vector<double> gradient(3);
    for (int64_t row = 0; row < 4; ++row) {
      const double error = error_of(batch, w, b, row, half), g = error * 2 / 4;
      loss += error * error / 4;
      bias += g;
      for (int64_t k = 0; k < 3; ++k)
        gradient[static_cast<size_t>(k)] +=
            rounded(batch.at("x").at_double(row * 3 + k), half) * rounded(g * scale, half);
    }
    EXPECT_NEAR(out.at("loss").at_double(0), loss, 1e-6);
    EXPECT_NEAR(states.at("b").at_double(0), b - rate * bias, 1e-6);
    for (int64_t k = 0; k < 3; ++k) {
      const double dw = rounded(gradient[static_cast<size_t>(k)], half) / scale;
      EXPECT_NEAR(states.at("w").at_double(k), w[static_cast<size_t>(k)] - rate * dw, 1e-6) << name_of(half);
    }
    EXPECT_EQ(states.count("loss_scale"), half == DType::f16 ? 1u : 0u);
  }
}

TEST(MixedPrecision, RoundsInSubgraphs) {
  const std::string options = "loss=mse(y,t),optimizer=sgd(lr=0.125)";
  for (bool yes : {true, false}) {
    Named batch = batch_of(2), plain, half;
    batch.emplace("yes", scalar_tensor(DType::boolean, yes));
    const double full = run(entries(kBranch, options).train, batch, plain).at("loss").at_double(0);
    const double rough = run(entries(kBranch, options + ",precision=bf16").train, batch, half).at("loss").at_double(0);
    EXPECT_NE(full, rough);
    EXPECT_NEAR(full, rough, 0.02 * full);
    EXPECT_NE(plain.at("w").at_double(0), half.at("w").at_double(0));
    EXPECT_NEAR(plain.at("w").at_double(0), half.at("w").at_double(0), 0.02);
  }
}

/// The compiler recognizes packed weights by this pair of nodes.
TEST(MixedPrecision, KeepsPackedWeights) {
  const char* packed = R"(graph packed(%x: f32[batch,3]) -> (%y) {
    constant %q: i8[1,3] = {1, 2, 3}
    constant %scale: f32[] = {0.1}
    constant %v: f32[1] = {1}
    %d = DequantizeLinear(%q, %scale)
    %w = Transpose(%d) {perm = [1, 0]}
    %p = MatMul(%x, %w)
    %y = Mul(%p, %v)
  })";
  const Graph train = entries(packed, "loss=mse(y,t),optimizer=sgd,frozen=scale,precision=bf16").train;
  int products = 0;
  for (NodeId id : train.order()) {
    const Node& node = train.node(id);
    if (node.op->name != std::string("MatMul")) continue;
    const Node& swap = train.node(train.value(node.inputs[1]).producer);
    EXPECT_EQ(swap.op->name, std::string("Transpose"));
    EXPECT_EQ(train.node(train.value(swap.inputs[0]).producer).op->name, std::string("DequantizeLinear"));
    EXPECT_EQ(train.node(train.value(node.inputs[0]).producer).op->name, std::string("Cast"));
    ++products;
  }
  EXPECT_EQ(products, 1);
}

TEST(LossScale, HalvesAtAnOverflowAndGrowsAfterwards) {
  const Graph train = entries(kSmall, "loss=mse(y,t),optimizer=adamw(lr=0.01),accumulate=1,clip=1,precision=f16").train;
  Named states;
  run(train, batch_of(0, 1e-3), states);
  EXPECT_EQ(states.at("loss_scale").at_double(0), 65536);
  EXPECT_EQ(states.at("loss_scale.steps").at_int(0), 1);
  Named before = states;
  run(train, batch_of(0, 1e3), states);
  EXPECT_EQ(states.at("loss_scale").at_double(0), 32768);
  EXPECT_EQ(states.at("loss_scale.steps").at_int(0), 0);
  EXPECT_EQ(states.at("loss_scale.skipped").at_int(0), 1);
  for (const char* own : {"loss_scale", "loss_scale.steps", "loss_scale.skipped"}) before.at(own) = states.at(own);
  expect_same(states, before);  // parameters, moments and the step counter
  states.insert_or_assign("loss_scale.steps", scalar_tensor(DType::i64, 1998));
  for (const double scale : {32768, 65536, 65536}) {
    run(train, batch_of(0, 1e-3), states);
    EXPECT_EQ(states.at("loss_scale").at_double(0), scale);
  }
  EXPECT_EQ(states.at("loss_scale.steps").at_int(0), 1);
  EXPECT_EQ(states.at("step").at_int(0), 4);
  states.insert_or_assign("loss_scale", scalar_tensor(DType::f32, 0x1p-23));
  for (int i = 0; i < 3; ++i) run(train, batch_of(0, INFINITY), states);
  EXPECT_EQ(states.at("loss_scale").at_double(0), 0x1p-24);
  EXPECT_EQ(states.at("loss_scale.skipped").at_int(0), 4);
}

/// An overflow in one step of a group skips the whole group, and replicas do the same bit for bit.
TEST(LossScale, SkipsGroupsOfSteps) {
  const TrainingEntries made =
      entries(kSmall, "loss=mse(y,t),optimizer=adamw(lr=0.1),accumulate=2,replicas=on,precision=f16");
  const Graph& gradients = replica_entry(made, "gradients");
  Named alone, shared;
  for (int64_t group = 0; group < 4; ++group) {
    const auto batch = [&](int64_t i) { return batch_of(group * 2 + i, group == 1 && i == 0 ? 1e3 : 1e-3); };
    std::vector<Named> found;
    for (int64_t i = 0; i < 2; ++i) found.push_back(run(gradients, batch(i), shared));
    for (int64_t i = 0; i < 2; ++i) run(made.train, batch(i), alone);
    update_group(made, found, shared);
    expect_same(alone, shared);
    EXPECT_EQ(alone.at("loss_scale").at_double(0), group == 0 ? 65536 : 32768);
    EXPECT_EQ(alone.at("step").at_int(0), group == 0 ? 1 : group);
    EXPECT_EQ(alone.at("loss_scale.skipped").at_int(0), group == 0 ? 0 : 1);
    EXPECT_TRUE(std::isfinite(alone.at("w").at_double(0)));
  }
}

/// A smaller scale helps against overflows while it is above 1, so such steps are skipped, and do not fail.
TEST(LossScale, AgreesWithCheckFinite) {
  const Graph train = entries(kLinear, "loss=mse(y,t),optimizer=sgd,check=finite,precision=f16").train;
  Named states;
  run(train, batch_of(0, 1e3), states);
  EXPECT_EQ(states.at("loss_scale.skipped").at_int(0), 1);
  const auto failure = [&](double size) {
    try {
      run(train, batch_of(0, size), states);
    } catch (const CompileError& error) {
      return std::string(error.what());
    }
    return std::string("done");
  };
  EXPECT_EQ(failure(INFINITY), "the loss is NaN or infinite; the states keep their values");
  states.insert_or_assign("loss_scale", scalar_tensor(DType::f32, 1));
  EXPECT_EQ(failure(1), "done");
  EXPECT_EQ(failure(1e6), "the norm of the gradient of 'w' is NaN or infinite; the states keep their values");
}

TEST(MixedPrecision, NamesWhatItCannotTrain) {
  const auto refusal = [](const std::string& text, const std::string& options) {
    try {
      entries(text, options);
    } catch (const CompileError& error) {
      return std::string(error.what());
    }
    return std::string("made");
  };
  const char* twice = R"(graph twice(%x: f64[n,2]) -> (%y) {
    constant %w: f64[2,1] = {1, 2}
    %y = MatMul(%x, %w)
  })";
  const std::string options = "loss=mse(y,t),optimizer=sgd,precision=";
  EXPECT_EQ(refusal(twice, options + "bf16"), "--train: parameter 'w' is f64; precision=bf16 needs parameters in f32");
  EXPECT_EQ(refusal(kLinear, options + "fp8"), "--train: precision is 'fp8', expected f16 or bf16");
  const char* taken = R"(graph taken(%x: f32[n,2]) -> (%loss_scale) {
    constant %w: f32[2,1] = {1, 2}
    %loss_scale = MatMul(%x, %w)
  })";
  EXPECT_EQ(refusal(taken, "loss=mse(loss_scale,t),optimizer=sgd,precision=f16"),
            "--train: the model has a value 'loss_scale' already, so precision=f16 cannot add a state of this name");
}

}  // namespace
}  // namespace gcg
