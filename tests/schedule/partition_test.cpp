// Graphs for a GPU with nodes on the CPU: nothing fuses across, copies carry values over the border, memory is planned
// on either side.
#include "compiler/partition/partition.h"

#include <gtest/gtest.h>

#include <random>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/passes/pass.h"
#include "compiler/plan/make_plan.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/plan_remarks.h"
#include "compiler/plan/streams.h"
#include "compiler/plan/verify_plan.h"
#include "compiler/support/error.h"
#include "tests/schedule/random_graph.h"
#include "tests/schedule/schedule_case.h"

namespace gcg::test {
namespace {

std::vector<Assignment> assignments(const std::vector<std::string>& texts) {
  std::vector<Assignment> out;
  for (const std::string& text : texts) out.push_back(parse_assignment(text));
  return out;
}

Plan planned(Plan plan) {
  assign_streams(plan);
  plan_memory(plan, std::nullopt);
  verify_plan(plan);
  return plan;
}

Plan plan_of(const std::string& text, const std::vector<std::string>& assigned) {
  Graph graph = parse_graph(text);
  infer_graph(graph);
  Partition(graph, assignments(assigned)).apply(graph);
  return planned(make_plan(graph, DeviceClass::cuda));
}

/// Steps as schedule_case.h prints them; what lies in host memory has a ' behind its name.
void expect_steps(const std::string& text, const std::vector<std::string>& assigned, const std::string& steps) {
  EXPECT_EQ(step_text(plan_of(text, assigned)), steps);
}

constexpr const char* kChain = R"(graph g(%x: f32[4,8]) -> (%d) {
  %a = Exp(%x)
  %b = Softmax(%a)
  %c = Neg(%b)
  %d = Softmax(%c)
})";

TEST(Partition, WithoutAssignmentsNothingChanges) {
  expect_steps(kChain, {}, "loops %x -> %a\nloops[3 stages] %a -> %b over %a\nloops[3 stages] %b -> %d\n");
}

TEST(Partition, ANodeInTheMiddleGoesThereAndBack) {
  expect_steps(kChain, {"c=cpu"},
               "loops %x -> %a\nloops[3 stages] %a -> %b over %a\ncopy %b -> %b'\nhost loops %b' -> %c' over %b'\ncopy "
               "%c' -> %c\n"
               "loops[3 stages] %c -> %d\n");
}

TEST(Partition, NeighboursOnTheCpuFuseAndNeedNoCopies) {
  expect_steps(kChain, {"b=cpu", "Neg=cpu"},
               "loops %x -> %a\ncopy %a -> %a'\nhost loops[3 stages] %a' -> %c' over %a'\ncopy %c' -> %c\n"
               "loops[3 stages] %c -> %d\n");
}

TEST(Partition, ALaterAssignmentTakesSomeBack) {
  expect_steps(kChain, {"*=cpu", "[a-c]=cuda"},
               "loops %x -> %a\nloops[3 stages] %a -> %c over %a\ncopy %c -> %c'\n"
               "host loops[3 stages] %c' -> %d' over %c'\ncopy %d' -> %d\n");
}

TEST(Partition, TheEpilogueOfAProductStopsAtTheBorder) {
  const char* text = R"(graph g(%x: f32[4,8], %w: f32[8,16], %b: f32[16]) -> (%y) {
    %p = MatMul(%x, %w)
    %s = Add(%p, %b)
    %y = Relu(%s)
  })";
  expect_steps(
      text, {"Add=cpu"},
      "matmul %w %x -> %p\ncopy %b -> %b'\ncopy %p -> %p'\nhost loops %b' %p' -> %s' over %p'\ncopy %s' -> %s\n"
      "loops %s -> %y\n");
}

TEST(Partition, ATransposeElsewhereIsNoStrideOfTheProduct) {
  const char* text = R"(graph g(%x: f32[8,4], %w: f32[8,16]) -> (%y) {
    %t = Transpose(%x) {perm = [1,0]}
    %y = MatMul(%t, %w)
  })";
  expect_steps(text, {}, "matmul %w %x -> %y\n");
  expect_steps(text, {"t=cpu"}, "copy %x -> %x'\nhost loops %x' -> %t'\ncopy %t' -> %t\nmatmul %t %w -> %y\n");
}

TEST(Partition, PartsOfAConcatAreWrittenOnItsSide) {
  const char* text = R"(graph g(%x: f32[4,8], %z: f32[4,3], %w: f32[3,8]) -> (%y) {
    %a = Relu(%x)
    %p = MatMul(%z, %w)
    %y = Concat(%a, %p) {axis = 1}
  })";
  expect_steps(text, {"y=cpu"},
               "loops %x -> %a\nmatmul %w %z -> %p\ncopy %a -> %a'\nhost loops %a' -> %y'\ncopy %p -> %p'\nhost loops "
               "%p' -> %y'\n"
               "copy %y' -> %y\n");
}

TEST(Partition, ConstantsAreReadWhereTheyAre) {
  const char* text = R"(graph g(%x: f32[4,2]) -> (%y, %z) {
    constant %k: f32[2] = {3,4}
    %y = Add(%x, %k)
    %z = Mul(%x, %k)
  })";
  const Plan s = plan_of(text, {"Mul=cpu"});
  EXPECT_EQ(step_text(s), "loops %k %x -> %y\ncopy %x -> %x'\nhost loops %k' %x' -> %z' over %x'\ncopy %z' -> %z\n");
}

TEST(Partition, BodiesHaveDevicesToo) {
  const char* text = R"(graph g(%x: f32[4], %n: i64[]) -> (%y) {
    constant %go: bool[] = {1}
    %y = Loop(%n, %go, %x)
      graph body(%i: i64[], %c: bool[], %v: f32[4]) -> (%c, %w) {
        %u = Exp(%v)
        %w = Softmax(%u)
      }
  })";
  expect_steps(text, {"u=cpu"},
               "copy %go -> %c\ncopy %x -> %y\nloop %n times; %w -> %y\n  loops -> %c\n"
               "  copy %y -> %y'\n  host loops %y' -> %u' over %y'\n  copy %u' -> %u\n  loops[3 stages] %u -> %w\n");
  const std::string all = step_text(plan_of(text, {"y=cpu"}));  // the node takes its body along
  EXPECT_NE(all.find("host loops[3 stages]"), std::string::npos) << all;
}

TEST(Partition, ValuesThatTheCpuReadsKeepTheirPrecision) {
  Graph graph = parse_graph(R"(graph g(%x: f32[8,64], %w: f32[64,64]) -> (%y) {
    %p = MatMul(%x, %w)
    %r = Relu(%p)
    %y = MatMul(%r, %w)
  })");
  infer_graph(graph);
  Partition(graph, assignments({"Relu=cpu"})).apply(graph);
  Target target = *find_target("sm_80");
  target.precision = Precision::fp16;
  run_passes(graph, device_passes(DeviceClass::cuda), &target, {});
  for (int64_t i = 0; i < graph.value_count(); ++i) {
    const Value& v = graph.value(ValueId(i));
    EXPECT_TRUE(v.stored == DType::undefined || (v.name != "p" && v.name != "r")) << v.name;
  }
  verify_plan(planned(make_plan(graph, DeviceClass::cuda)));
}

TEST(Partition, RemarksNameTheNodesAndTheCost) {
  const std::vector<std::string> remarks = plan_remarks(plan_of(kChain, {"b=cpu", "d=cpu"}));
  ASSERT_EQ(remarks.size(), 2u);
  EXPECT_EQ(remarks[0],
            "'b' runs on the CPU: about 26 us, of which 1 us are work, the rest waiting and copies of 128 bytes to "
            "it and 128 bytes back");
  EXPECT_EQ(remarks[1].find("'d' runs on the CPU: about 26 us"), 0u) << remarks[1];
  EXPECT_EQ(plan_remarks(plan_of(kChain, {})), std::vector<std::string>{});
}

TEST(Partition, StepsInARowPayForTheWayOnce) {
  const std::vector<std::string> chain = plan_remarks(plan_of(kChain, {"b=cpu", "c=cpu", "d=cpu"}));
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(
      chain[0],
      "'b' runs on the CPU: about 21 us, of which 1 us are work, the rest waiting and copies of 128 bytes to it and "
      "0 bytes back");
  EXPECT_EQ(
      chain[1],
      "'d' runs on the CPU: about 6 us, of which 1 us are work, the rest copies of 0 bytes to it and 128 bytes back");
  const std::vector<std::string> fork = plan_remarks(plan_of(R"(graph g(%x: f32[4,8]) -> (%y, %z) {
    %a = Exp(%x)
    %y = Softmax(%a)
    %z = Softmax(%a) {axis = 0}
  })",
                                                             {"?=cpu", "a=cuda"}));
  ASSERT_EQ(fork.size(), 2u);
  EXPECT_NE(fork[0].find("copies of 128 bytes to it"), std::string::npos) << fork[0];
  EXPECT_NE(fork[1].find("copies of 0 bytes to it"), std::string::npos) << fork[1];
}

TEST(Partition, RemarksSayWhatTheyTookOpenExtentsAs) {
  const std::vector<std::string> remarks = plan_remarks(plan_of(R"(graph g(%x: f32[n,m,4]) -> (%y) {
    %a = Exp(%x)
    %y = Softmax(%a)
  })",
                                                                {"y=cpu"}));
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("copies of 65536 bytes to it and 65536 bytes back, taking 'm', 'n' as 64"),
            std::string::npos)
      << remarks[0];
}

TEST(Partition, AnExtentThatDependsOnDataIsSaid) {
  Graph graph = parse_graph("graph g(%x: f32[4,8]) -> (%y) {\n  %y = NonZero(%x)\n}");
  infer_graph(graph);
  run_passes(graph, model_passes(), nullptr, {});
  const std::vector<std::string> remarks = plan_remarks(planned(make_plan(graph, DeviceClass::cuda)));
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0].find("an extent of what 'y' gives depends on data ('"), 0u) << remarks[0];
}

std::string refusal(const std::vector<std::string>& texts) {
  try {
    Graph graph = parse_graph(kChain);
    Partition(graph, assignments(texts));
  } catch (const CompileError& e) {
    return e.what();
  }
  return "";
}

TEST(Partition, NonsenseIsRefused) {
  EXPECT_EQ(refusal({"b"}), "--assign 'b' is not PATTERN=cpu or PATTERN=cuda");
  EXPECT_EQ(refusal({"=cpu"}), "--assign '=cpu' is not PATTERN=cpu or PATTERN=cuda");
  EXPECT_EQ(refusal({"b=gpu"}), "--assign 'b=gpu' is not PATTERN=cpu or PATTERN=cuda");
  EXPECT_EQ(refusal({"q*=cpu"}), "--assign 'q*=cpu': no node has such a name or operator");
}

TEST(Partition, WhatIsGoneAfterCleanUpIsSaid) {
  Graph graph = parse_graph(kChain);
  infer_graph(graph);
  const Partition partition(graph, assignments({"b=cpu", "c=cpu"}));
  Graph rewritten = parse_graph("graph g(%x: f32[4,8]) -> (%b) {\n  %b = Softmax(%x)\n}");
  infer_graph(rewritten);
  EXPECT_EQ(partition.apply(rewritten),
            std::vector<std::string>{"--assign 'c=cpu' has no effect: no work is left of 'c'"});
}

/// Follows the values: a buffer holds what was written to it last, by whom, from which values.
class Values {
 public:
  explicit Values(const Plan& s) : s_(s), held_(s.buffers.size()) {
    for (BufferId b : s.buffers.ids())
      if (s.buffers[b].kind == Buffer::Kind::input || s.buffers[b].constant) held_[b] = s.buffers[b].name;
  }
  /// What the outputs hold in the end.
  std::vector<std::string> run() {
    for (const Step& step : s_.entry().steps) {
      std::string read;
      for (BufferId b : step.reads()) read += held_[b] + ",";
      std::string& to = held_[step.writes().at(0)];
      to = step.as<Copy>() ? read.substr(0, read.size() - 1) : digest(to + step.source + "(" + read);
    }
    std::vector<std::string> out;
    for (BufferId b : s_.buffers.ids())
      if (s_.buffers[b].kind == Buffer::Kind::output) out.push_back(held_[b]);
    return out;
  }

 private:
  static std::string digest(const std::string& text) { return std::to_string(std::hash<std::string>()(text)); }
  const Plan& s_;
  IndexedVector<BufferId, std::string> held_;
};

bool on_host(const Plan& plan, BufferId b) { return plan.buffers[b].space == MemorySpace::host; }

/// The steps that a copy to and fro surrounds see what they would see if all memory were one.
TEST(Partition, RandomGraphsCarryEveryValueAcross) {
  int crossed = 0;
  for (uint32_t seed = 1; seed <= 300 && !HasFailure(); ++seed) {
    Graph graph = random_graph(seed);
    infer_graph(graph);
    std::mt19937 rng(seed);
    for (NodeId id : graph.order())
      graph.node(id).on_host =
          rng() % 3 == 0 && graph.node(id).bodies.empty() && graph.node(id).op->kind != OpKind::view;
    SCOPED_TRACE(concat("seed ", seed, ":\n", print_graph(graph, GirData::elided)));
    const Plan mixed = planned(make_plan(graph, DeviceClass::cuda));
    if (mixed.sequences.size() > 1) continue;
    Plan one = mixed;  // twins are the buffers they stand for
    std::map<BufferId, BufferId> original;
    for (BufferId b : one.buffers.ids())
      for (BufferId a : one.buffers.ids())
        if (a < b && on_host(one, b) && !on_host(one, a) && one.buffers[a].name == one.buffers[b].name &&
            one.buffers[a].constant == one.buffers[b].constant)
          original.emplace(b, a);
    Sequence without_copies;
    for (Step& step : one.entry().steps) {
      if (const auto* copy = step.as<Copy>(); copy != nullptr && (on_host(one, copy->to) || on_host(one, copy->from)))
        continue;
      if (auto* launch = step.as<Launch>())
        for (BufferId& b : launch->operands)
          if (const auto it = original.find(b); it != original.end()) b = it->second;
      without_copies.steps.push_back(step);
    }
    one.entry() = without_copies;
    crossed += !mixed.host_kernels.empty();
    EXPECT_EQ(Values(mixed).run(), Values(one).run());
  }
  EXPECT_GT(crossed, 100);
}

}  // namespace
}  // namespace gcg::test
