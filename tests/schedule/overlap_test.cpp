// Which launches may start while the previous one runs, and for which launches this is faster.
#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/plan/constant_operands.h"
#include "compiler/plan/make_plan.h"
#include "compiler/plan/overlap_launches.h"

namespace gcg::test {
namespace {

Plan plan_of(const char* gir) {
  Graph graph = parse_graph(gir);
  infer_graph(graph);
  Plan plan = make_plan(graph);
  mark_constant_operands(plan);
  return plan;
}

const char* const kChain = R"(graph g(%x: f32[8,64]) -> (%y) {
  constant %v: f32[64,64] = random(1)
  constant %w: f32[64,64] = random(2)
  constant %u: f32[64,64] = random(3)
  %a = MatMul(%x, %v)
  %b = MatMul(%a, %w)
  %c = MatMul(%b, %u)
  %y = Add(%c, %a)
})";

int weights_of(const Kernel& kernel) {
  for (size_t o = 0; o < kernel.operands.size(); ++o)
    if (kernel.operands[o].constant) return static_cast<int>(o);
  return -1;
}

/// A plan and its code, whose kernels read weights before they wait.
struct Coded {
  explicit Coded(Plan given) : plan(std::move(given)) {
    for (const Kernel& k : plan.kernels) {
      CompiledKernel code;
      code.waits = true;
      code.ahead_bytes = 4096;
      if (const int w = weights_of(k); w >= 0) code.ahead = {w};
      plan.code.push_back(code);
    }
  }

  Step& step(int i) { return plan.entry().steps[StepId(i)]; }
  Launch& launch(int i) { return *step(i).as<Launch>(); }
  /// The buffer that the step's kernel reads before its wait.
  Buffer& ahead(int i) {
    return plan.buffers[launch(i).operands[static_cast<size_t>(plan.code[launch(i).kernel].ahead[0])]];
  }
  /// Runs the pass. Returns one character per step, "x" if it overlaps: "-xx".
  std::string overlaps() {
    overlap_launches(plan);
    std::string out;
    for (const Step& s : plan.entry().steps) out += s.as<Launch>() && s.as<Launch>()->overlaps ? 'x' : '-';
    return out;
  }

  Plan plan;
};

TEST(ConstantOperands, AreThoseOfEachLaunch) {
  const Plan chain = plan_of(kChain);
  int constants = 0;
  for (const Kernel& k : chain.kernels)
    for (const Operand& o : k.operands) constants += o.constant;
  EXPECT_EQ(constants, static_cast<int>(chain.kernels.size()));
  const Plan mixed = plan_of(R"(graph g(%x: f32[8,64], %z: f32[64,64]) -> (%y) {
    constant %v: f32[64,64] = random(1)
    %a = MatMul(%x, %v)
    %y = MatMul(%a, %z)
  })");
  // Only the first product has constant weights; the second one reads an input.
  ASSERT_EQ(mixed.kernels.size(), 2u);
  EXPECT_GE(weights_of(mixed.kernels.front()), 0);
  EXPECT_EQ(weights_of(mixed.kernels.back()), -1);
  const auto& steps = mixed.entry().steps;
  EXPECT_EQ(weights_of(mixed.kernels[steps.front().as<Launch>()->kernel]), weights_of(mixed.kernels.front()));
  EXPECT_EQ(weights_of(mixed.kernels[steps.back().as<Launch>()->kernel]), -1);
}

TEST(Overlaps, EveryLaunchAfterALaunch) {
  Coded e(plan_of(kChain));
  EXPECT_EQ(e.overlaps(), "-xx");
}

TEST(Overlaps, NotWhereTheKernelDoesNotWait) {
  Coded e(plan_of(kChain));
  for (CompiledKernel& code : e.plan.code) code.waits = false;
  EXPECT_EQ(e.overlaps(), "---");
}

TEST(Overlaps, NotWhereWhatIsReadAheadMayBeWritten) {
  Coded e(plan_of(kChain));
  e.ahead(1).kind = Buffer::Kind::temporary;
  EXPECT_EQ(e.overlaps(), "--x");
  Coded given(plan_of(kChain));
  given.ahead(1).kind = Buffer::Kind::input;
  EXPECT_EQ(given.overlaps(), "--x");
  Coded packed(plan_of(kChain));
  packed.ahead(1).kind = Buffer::Kind::packed;
  EXPECT_EQ(packed.overlaps(), "-xx");
}

TEST(Overlaps, NotAfterWhatIsNoLaunch) {
  Coded copied(plan_of(kChain));
  copied.step(1).work = Copy{copied.launch(1).operands.back(), copied.launch(0).operands.back()};
  EXPECT_EQ(copied.overlaps(), "---");
  Coded guarded(plan_of(kChain));
  guarded.step(1).work = Fail{"no"};
  EXPECT_EQ(guarded.overlaps(), "---");
  Coded called(plan_of(kChain));
  called.step(1).work = Call{};
  EXPECT_EQ(called.overlaps(), "---");
}

TEST(Overlaps, NotWhereItWaitsForAnotherStream) {
  Coded e(plan_of(kChain));
  e.plan.streams = 2;
  e.step(0).stream = 1;
  EXPECT_EQ(e.overlaps(), "---");  // the last step does not overlap either, because it adds the first step's result
  e.step(2).waits = {StepId(1)};
  EXPECT_EQ(e.overlaps(), "--x");
}

/// Two parallel chains. A launch of few blocks takes little time from the other chain. A launch that fills the device
/// while the previous one still runs costs the other chain more time than it saves.
TEST(Overlaps, NotWhereOtherStreamsWantTheDevice) {
  const auto chains = [](int rows) {
    const std::string n = std::to_string(rows);
    Plan plan = plan_of(("graph g(%x: f32[" + n + ",4096], %z: f32[64,64]) -> (%y, %r) {\n" + R"(
      constant %v: f32[4096,4096] = fill(0.5)
      constant %w: f32[4096,4096] = fill(0.25)
      constant %u: f32[64,64] = random(3)
      %a = MatMul(%x, %v)
      %y = MatMul(%a, %w)
      %q = MatMul(%z, %u)
      %r = MatMul(%q, %u)
    })")
                            .c_str());
    for (Step& step : plan.entry().steps) {
      const std::string& result = plan.buffers[step.result()].name;
      step.stream = result == "q" || result == "r" ? 1 : 0;
    }
    plan.streams = 2;
    return plan;
  };
  Coded small(chains(1)), large(chains(4096));
  const auto of_stream_0 = [](Coded& e) {
    const std::string all = e.overlaps();
    std::string out;
    for (size_t i = 0; i < all.size(); ++i)
      if (e.step(static_cast<int>(i)).stream == 0) out += all[i];
    return out;
  };
  EXPECT_EQ(of_stream_0(small), "-x");
  EXPECT_EQ(of_stream_0(large), "--");
  large.plan.streams = 1;  // nobody else
  for (Step& step : large.plan.entry().steps) step.stream = 0;
  EXPECT_EQ(large.overlaps(), "-xxx");
}

}  // namespace
}  // namespace gcg::test
