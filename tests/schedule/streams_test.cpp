// Schedules on several streams: in any order that streams and waits allow, every step finds its operands.
#include "compiler/plan/streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/plan/make_plan.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/verify_plan.h"
#include "compiler/support/error.h"
#include "tests/schedule/random_graph.h"

namespace gcg::test {
namespace {

Plan plan_of(Graph& graph) {
  infer_graph(graph);
  Plan plan = make_plan(graph);
  assign_streams(plan);
  plan_memory(plan, {});
  verify_plan(plan);
  return plan;
}

/// The arena of a static plan; each byte knows the buffer that was last written to it.
class Arena {
 public:
  explicit Arena(const Plan& s) : s_(s), owner_(static_cast<size_t>(s.memory.layout.bytes), -1) {}

  /// Empty if the step finds its operands.
  std::string run(const Step& step) {
    for (BufferId b : step.reads())
      if (!holds(b)) return concat("step '", step.source, "' reads %", s_.buffers[b].name, ", which is not there");
    for (BufferId b : step.writes())
      if (temporary(b))
        std::fill_n(owner_.begin() + place(b), s_.buffers[b].bytes.evaluate({}), static_cast<int>(b.index));
    return "";
  }

 private:
  bool temporary(BufferId b) const { return s_.buffers[b].kind == Buffer::Kind::temporary; }
  int64_t place(BufferId b) const { return s_.memory.layout.offsets[static_cast<size_t>(s_.buffers[b].block)]; }
  bool holds(BufferId b) const {
    if (!temporary(b)) return true;
    const auto begin = owner_.begin() + place(b);
    return std::all_of(begin, begin + s_.buffers[b].bytes.evaluate({}),
                       [&](int o) { return o == static_cast<int>(b.index); });
  }

  const Plan& s_;
  std::vector<int> owner_;
};

/// An order of the steps that StepOrder allows. It runs always the last ready step, or never step `delay` while another
/// one is ready, or a random one.
std::vector<StepId> some_order(const Sequence& sequence, std::mt19937& rng, StepId delay) {
  const StepOrder order(sequence);
  std::vector<StepId> out;
  IndexedVector<StepId, bool> done(sequence.steps.size());
  while (out.size() < done.size()) {
    std::vector<StepId> ready;
    for (StepId i : sequence.steps.ids()) {
      bool free = !done[i];
      for (StepId j : sequence.steps.ids()) free = free && (done[j] || !order.before(j, i));
      if (free) ready.push_back(i);
    }
    if (delay.valid() && ready.size() > 1) ready.erase(std::remove(ready.begin(), ready.end(), delay), ready.end());
    out.push_back(ready[delay.valid() ? ready.size() - 1 : rng() % ready.size()]);
    done[out.back()] = true;
  }
  return out;
}

void expect_sound(const Plan& plan, uint32_t seed) {
  std::mt19937 rng(seed);
  const Sequence& entry = plan.entry();
  for (size_t round = 0; round < entry.steps.size() + 8; ++round) {
    Arena arena(plan);
    const StepId delayed = round < entry.steps.size() ? StepId(static_cast<int64_t>(round)) : StepId();
    for (StepId step : some_order(entry, rng, delayed)) ASSERT_EQ(arena.run(entry.steps[step]), "");
  }
}

TEST(Streams, RandomGraphsAreSoundInEveryOrderLeftOpen) {
  int forked = 0;
  for (uint32_t seed = 2; seed <= 400 && !HasFailure(); seed += 2) {
    Graph graph = random_graph(seed);
    SCOPED_TRACE(concat("seed ", seed, ":\n", print_graph(graph, GirData::elided)));
    const Plan plan = plan_of(graph);
    forked += plan.streams > 1;
    expect_sound(plan, seed);
  }
  EXPECT_GT(forked, 20);
}

/// Streams of the steps, in order: "0 0 1 0".
std::string streams_of(const std::string& text) {
  Graph graph = parse_graph(text);
  const Plan plan = plan_of(graph);
  std::string out;
  for (const Step& step : plan.entry().steps) out += concat(out.empty() ? "" : " ", step.stream);
  return out;
}

TEST(Streams, AChainStaysOnOneStream) {
  EXPECT_EQ(streams_of(R"(graph g(%x: f32[4,64]) -> (%d) {
    %a = Softmax(%x)
    %b = Transpose(%a) {perm = [1,0]}
    %c = Softmax(%b)
    %d = Softmax(%c)
  })"),
            "0 0 0");
}

TEST(Streams, SmallIndependentChainsRunSideBySide) {
  EXPECT_EQ(streams_of(R"(graph g(%x: f32[4,64], %y: f32[4,64]) -> (%c, %z) {
    %a = Softmax(%x)
    %b = Softmax(%a)
    %c = Softmax(%b)
    %u = Softmax(%y)
    %v = Softmax(%u)
    %z = Softmax(%v)
  })"),
            "0 0 0 1 1 1");
}

TEST(Streams, OneSmallStepIsNotWorthAFork) {
  EXPECT_EQ(streams_of(R"(graph g(%x: f32[4,64], %y: f32[4,64]) -> (%c, %u) {
    %a = Softmax(%x)
    %b = Softmax(%a)
    %c = Softmax(%b)
    %u = Softmax(%y)
  })"),
            "0 0 0 0");
}

TEST(Streams, StepsThatFillTheDeviceStayInLine) {
  EXPECT_EQ(streams_of(R"(graph g(%x: f32[4096,1024], %y: f32[4096,1024]) -> (%b, %v) {
    %a = Softmax(%x)
    %b = Softmax(%a)
    %u = Softmax(%y)
    %v = Softmax(%u)
  })"),
            "0 0 0 0");
}

}  // namespace
}  // namespace gcg::test
