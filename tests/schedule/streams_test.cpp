// Schedules on several streams: whatever order the streams and waits leave open, every step finds its operands.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/streams.h"
#include "compiler/support/error.h"
#include "tests/schedule/random_graph.h"

namespace gcg::test {
namespace {

Schedule schedule_of(Graph& graph) {
  infer_graph(graph);
  Schedule schedule = make_schedule(graph);
  assign_streams(schedule);
  plan_memory(schedule, {});
  verify_schedule(schedule);
  return schedule;
}

/// The arena of a static schedule; every byte knows the buffer written to it last.
class Arena {
 public:
  explicit Arena(const Schedule& s) : s_(s), owner_(static_cast<size_t>(s.memory.layout.bytes), -1) {}

  /// Empty if the step finds what it reads.
  std::string run(const Step& step) {
    for (size_t i = 0; i < step.operands.size(); ++i)
      if (!writes(step, i) && !holds(step.operands[i]))
        return concat("step '", step.source, "' reads %", buffer(step.operands[i]).name, ", which is not there");
    for (int w : step.writes) {
      const BufferId b = step.operands[static_cast<size_t>(w)];
      if (temporary(b)) std::fill_n(owner_.begin() + place(b), buffer(b).bytes.evaluate({}), static_cast<int>(b.index));
    }
    return "";
  }

 private:
  static bool writes(const Step& step, size_t i) {
    return std::find(step.writes.begin(), step.writes.end(), static_cast<int>(i)) != step.writes.end();
  }
  const Buffer& buffer(BufferId b) const { return s_.buffers[static_cast<size_t>(b.index)]; }
  bool temporary(BufferId b) const { return buffer(b).kind == Buffer::Kind::temporary; }
  int64_t place(BufferId b) const { return s_.memory.layout.offsets[static_cast<size_t>(buffer(b).block)]; }
  bool holds(BufferId b) const {
    if (!temporary(b)) return true;
    const auto begin = owner_.begin() + place(b);
    return std::all_of(begin, begin + buffer(b).bytes.evaluate({}), [&](int o) { return o == static_cast<int>(b.index); });
  }

  const Schedule& s_;
  std::vector<int> owner_;
};

/// An order of the steps that StepOrder allows: always the last ready one (`delay`: never that one while another is), or
/// any.
std::vector<size_t> some_order(const Sequence& sequence, std::mt19937& rng, std::optional<size_t> delay) {
  const StepOrder order(sequence);
  const size_t count = sequence.steps.size();
  std::vector<size_t> out;
  std::vector<bool> done(count, false);
  while (out.size() < count) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < count; ++i) {
      bool free = !done[i];
      for (size_t j = 0; j < count; ++j) free = free && (done[j] || !order.before(j, i));
      if (free) ready.push_back(i);
    }
    if (delay && ready.size() > 1) ready.erase(std::remove(ready.begin(), ready.end(), *delay), ready.end());
    out.push_back(ready[delay ? ready.size() - 1 : rng() % ready.size()]);
    done[out.back()] = true;
  }
  return out;
}

void expect_sound(const Schedule& schedule, uint32_t seed) {
  std::mt19937 rng(seed);
  const Sequence& entry = schedule.sequences.back();
  for (size_t round = 0; round < entry.steps.size() + 8; ++round) {
    Arena arena(schedule);
    const auto delayed = round < entry.steps.size() ? std::optional<size_t>(round) : std::nullopt;
    for (size_t step : some_order(entry, rng, delayed)) ASSERT_EQ(arena.run(entry.steps[step]), "");
  }
}

TEST(Streams, RandomGraphsAreSoundInEveryOrderLeftOpen) {
  int forked = 0;
  for (uint32_t seed = 2; seed <= 400 && !HasFailure(); seed += 2) {
    Graph graph = random_graph(seed);
    SCOPED_TRACE(concat("seed ", seed, ":\n", print_graph(graph, GirData::elided)));
    const Schedule schedule = schedule_of(graph);
    forked += schedule.streams > 1;
    expect_sound(schedule, seed);
  }
  EXPECT_GT(forked, 20);
}

/// Streams of the steps, in order: "0 0 1 0".
std::string streams_of(const std::string& text) {
  Graph graph = parse_graph(text);
  const Schedule schedule = schedule_of(graph);
  std::string out;
  for (const Step& step : schedule.sequences.back().steps) out += concat(out.empty() ? "" : " ", step.stream);
  return out;
}

TEST(Streams, AChainStaysOnOneStream) {
  EXPECT_EQ(streams_of(R"(graph g(%x: f32[4,64]) -> (%d) {
    %a = Softmax(%x)
    %b = Transpose(%a) {perm = [1,0]}
    %c = Softmax(%b)
    %d = Softmax(%c)
  })"), "0 0 0");
}

TEST(Streams, SmallIndependentChainsRunSideBySide) {
  EXPECT_EQ(streams_of(R"(graph g(%x: f32[4,64], %y: f32[4,64]) -> (%c, %z) {
    %a = Softmax(%x)
    %b = Softmax(%a)
    %c = Softmax(%b)
    %u = Softmax(%y)
    %v = Softmax(%u)
    %z = Softmax(%v)
  })"), "0 0 0 1 1 1");
}

TEST(Streams, OneSmallStepIsNotWorthAFork) {
  EXPECT_EQ(streams_of(R"(graph g(%x: f32[4,64], %y: f32[4,64]) -> (%c, %u) {
    %a = Softmax(%x)
    %b = Softmax(%a)
    %c = Softmax(%b)
    %u = Softmax(%y)
  })"), "0 0 0 0");
}

TEST(Streams, StepsThatFillTheDeviceStayInLine) {
  EXPECT_EQ(streams_of(R"(graph g(%x: f32[4096,1024], %y: f32[4096,1024]) -> (%b, %v) {
    %a = Softmax(%x)
    %b = Softmax(%a)
    %u = Softmax(%y)
    %v = Softmax(%u)
  })"), "0 0 0 0");
}

}  // namespace
}  // namespace gcg::test
