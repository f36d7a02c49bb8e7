// Which launches may start while the one before them runs, and which should.
#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/overlap_launches.h"
#include "compiler/schedule/constant_operands.h"
#include "compiler/schedule/schedule.h"

namespace gcg::test {
namespace {

namespace fb = gart::fb;

Schedule schedule_of(const char* gir) {
  Graph graph = parse_graph(gir);
  infer_graph(graph);
  Schedule schedule = make_schedule(graph);
  mark_constant_operands(schedule);
  return schedule;
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

/// A plan of the schedule's launches whose kernels wait behind their first weights.
struct Emitted {
  explicit Emitted(Schedule given) : schedule(std::move(given)) {
    for (const Buffer& b : schedule.buffers) {
      plan.buffers.push_back(std::make_unique<fb::BufferT>());
      plan.buffers.back()->kind = static_cast<fb::BufferKind>(b.kind);
    }
    for (const Kernel& k : schedule.kernels) {
      plan.kernels.push_back(std::make_unique<fb::KernelT>());
      plan.kernels.back()->waits = true;
      if (const int w = weights_of(k); w >= 0) plan.kernels.back()->ahead = {static_cast<uint32_t>(w)};
    }
    plan.sequences.push_back(std::make_unique<fb::SequenceT>());
    steps.emplace_back();
    for (const Step& s : schedule.sequences[0].steps) {
      auto step = std::make_unique<fb::StepT>();
      step->kernel = static_cast<uint32_t>(s.kernel.index);
      for (BufferId b : s.operands) step->operands.push_back(static_cast<uint32_t>(b.index));
      for (StepId w : s.waits) step->waits.push_back(static_cast<uint32_t>(w.index));
      step->stream = static_cast<uint32_t>(s.stream);
      steps[0].origin.push_back(steps[0].origin.size());
      steps[0].ahead_bytes.push_back(4096);
      plan.sequences[0]->steps.push_back(std::move(step));
    }
  }

  fb::StepT& step(size_t i) { return *plan.sequences[0]->steps[i]; }
  /// Of each step, whether it overlaps: "-xx".
  std::string overlaps() {
    overlap_launches(plan, schedule, steps);
    std::string out;
    for (const auto& s : plan.sequences[0]->steps) out += s->overlaps ? 'x' : '-';
    return out;
  }

  Schedule schedule;
  fb::PlanT plan;
  std::vector<EmittedSteps> steps;
};

TEST(ConstantOperands, AreThoseOfEveryStep) {
  const Schedule chain = schedule_of(kChain);
  int constants = 0;
  for (const Kernel& k : chain.kernels)
    for (const Operand& o : k.operands) constants += o.constant;
  EXPECT_EQ(constants, static_cast<int>(chain.kernels.size()));
  const Schedule mixed = schedule_of(R"(graph g(%x: f32[8,64], %z: f32[64,64]) -> (%y) {
    constant %v: f32[64,64] = random(1)
    %a = MatMul(%x, %v)
    %y = MatMul(%a, %z)
  })");
  ASSERT_EQ(mixed.kernels.size(), 1u);
  for (const Operand& o : mixed.kernels[0].operands) EXPECT_FALSE(o.constant);
}

TEST(Overlaps, EveryLaunchBehindALaunch) {
  Emitted e(schedule_of(kChain));
  EXPECT_EQ(e.overlaps(), "-xx");
}

TEST(Overlaps, NotWhereTheKernelDoesNotWait) {
  Emitted e(schedule_of(kChain));
  for (const auto& kernel : e.plan.kernels) kernel->waits = false;
  EXPECT_EQ(e.overlaps(), "---");
}

TEST(Overlaps, NotWhereWhatIsReadAheadMayBeWritten) {
  Emitted e(schedule_of(kChain));
  e.plan.buffers[e.step(1).operands[e.plan.kernels[e.step(1).kernel]->ahead[0]]]->kind = fb::BufferKind::temporary;
  EXPECT_EQ(e.overlaps(), "--x");
  Emitted prepared(schedule_of(kChain));
  prepared.plan.buffers[prepared.step(1).operands[prepared.plan.kernels[prepared.step(1).kernel]->ahead[0]]]->kind =
      fb::BufferKind::prepared;
  EXPECT_EQ(prepared.overlaps(), "-xx");
}

TEST(Overlaps, NotBehindWhatIsNoLaunch) {
  Emitted copied(schedule_of(kChain));
  copied.step(1).kind = fb::StepKind::copy;
  EXPECT_EQ(copied.overlaps(), "---");
  Emitted guarded(schedule_of(kChain));
  guarded.step(1).kind = fb::StepKind::fail;
  EXPECT_EQ(guarded.overlaps(), "---");
  Emitted called(schedule_of(kChain));
  called.step(1).kind = fb::StepKind::call;
  called.step(2).stands_in = 1;
  EXPECT_EQ(called.overlaps(), "---");
  Emitted host(schedule_of(kChain));
  host.step(1).device = 1;
  EXPECT_EQ(host.overlaps(), "---");
}

TEST(Overlaps, NotWhereItWaitsForAnotherStream) {
  Emitted e(schedule_of(kChain));
  e.schedule.streams = 2;
  e.step(0).stream = 1;
  e.schedule.sequences[0].steps[0].stream = 1;
  EXPECT_EQ(e.overlaps(), "---");  // the last step, too: it adds what the first one made
  e.step(2).waits = {1};
  EXPECT_EQ(e.overlaps(), "--x");
}

/// Two chains side by side. A launch of few blocks takes little from the other chain, one that fills the device as long
/// as the launch before it runs takes more than it gains.
TEST(Overlaps, NotWhereOtherStreamsWantTheDevice) {
  const auto chains = [](int rows) {
    const std::string n = std::to_string(rows);
    Schedule s = schedule_of(("graph g(%x: f32[" + n + ",4096], %z: f32[64,64]) -> (%y, %r) {\n" + R"(
      constant %v: f32[4096,4096] = fill(0.5)
      constant %w: f32[4096,4096] = fill(0.25)
      constant %u: f32[64,64] = random(3)
      %a = MatMul(%x, %v)
      %y = MatMul(%a, %w)
      %q = MatMul(%z, %u)
      %r = MatMul(%q, %u)
    })")
                                 .c_str());
    for (Step& step : s.sequences[0].steps) {
      const Buffer& result = s.buffers[static_cast<size_t>(step.operands.back().index)];
      step.stream = result.name == "q" || result.name == "r" ? 1 : 0;
    }
    s.streams = 2;
    return s;
  };
  Emitted small(chains(1)), large(chains(4096));
  const auto of_stream_0 = [](Emitted& e) {
    const std::string all = e.overlaps();
    std::string out;
    for (size_t i = 0; i < all.size(); ++i)
      if (e.step(i).stream == 0) out += all[i];
    return out;
  };
  EXPECT_EQ(of_stream_0(small), "-x");
  EXPECT_EQ(of_stream_0(large), "--");
  large.schedule.streams = 1;  // nobody else
  for (const auto& step : large.plan.sequences[0]->steps) step->stream = 0;
  EXPECT_EQ(large.overlaps(), "-xxx");
}

}  // namespace
}  // namespace gcg::test
