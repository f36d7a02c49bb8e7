// --assign without --fleet: the implied fleet, the devices of nodes, and refusals.
#include "compiler/partition/implied_fleet.h"

#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/support/error.h"

namespace gcg::test {
namespace {

constexpr const char* kChain = R"(graph g(%x: f32[4,8]) -> (%d) {
  %a = Exp(%x)
  %b = Softmax(%a)
  %c = Neg(%b)
  %d = Softmax(%c)
})";
constexpr const char* kLoop = R"(graph g(%x: f32[4], %n: i64[]) -> (%z) {
  constant %go: bool[] = {1}
  %y = Loop(%n, %go, %x)
    graph body(%i: i64[], %c: bool[], %v: f32[4]) -> (%c, %w) {
      %u = Exp(%v)
      %w = Softmax(%u)
    }
  %z = Neg(%y)
})";

Graph graph_of(const char* text) {
  Graph graph = parse_graph(text);
  infer_graph(graph);
  return graph;
}

std::vector<Target> targets(const std::vector<std::string>& names) { return require_targets(names); }

CutOptions assigned(const std::vector<std::string>& texts) {
  CutOptions cut;
  for (const std::string& text : texts) cut.assignments.push_back(parse_node_request("--assign", text));
  return cut;
}

/// A line per group, as print_cut writes it, or the reason why there is no fleet.
std::string cut_of(const char* text, const std::vector<std::string>& assignments,
                   const std::vector<std::string>& target_names = {"sm_80", "x86-64-v3"}) {
  try {
    const Graph graph = graph_of(text);
    CutOptions cut = assigned(assignments);
    const std::optional<Fleet> fleet = implied_fleet(graph, targets(target_names), cut);
    if (!fleet) return "whole";
    const NodeRequests requests(graph, *fleet, cut);
    std::string said;
    for (const UnmatchedRequest& idle : requests.without_effect(graph)) said += idle.request + " is idle\n";
    return said + print_cut(graph, *fleet, cut_graph(graph, *fleet, cut, requests));
  } catch (const CompileError& e) {
    return e.what();
  }
}

TEST(ImpliedFleet, WithoutAssignmentsTheModelStaysWhole) {
  EXPECT_EQ(cut_of(kChain, {}), "whole");
  EXPECT_EQ(cut_of(kChain, {}, {"x86-64-v3"}), "whole");
}

TEST(ImpliedFleet, WhatIsNotAssignedStaysOnTheGpu) {
  EXPECT_EQ(cut_of(kChain, {"c=cpu"}),
            "g0: a..b on cuda:0: a, b\n"
            "g1: c on cpu: c\n"
            "g2: d on cuda:0: d\n");
}

TEST(ImpliedFleet, TheLastAssignmentThatMatchesCounts) {
  EXPECT_EQ(cut_of(kChain, {"*=cpu", "[a-c]=cuda"}),
            "g0: a..c on cuda:0: a, b, c\n"
            "g1: d on cpu: d\n");
  EXPECT_EQ(cut_of(kChain, {"Softmax=cpu"}),
            "g0: a on cuda:0: a\n"
            "g1: b on cpu: b\n"
            "g2: c on cuda:0: c\n"
            "g3: d on cpu: d\n");
}

TEST(ImpliedFleet, ANodeTakesItsBodiesAlong) {
  EXPECT_EQ(cut_of(kLoop, {"y=cpu"}),
            "g0: y on cpu: y\n"
            "g1: z on cuda:0: z\n");
  EXPECT_EQ(cut_of(kLoop, {"u=cpu"}),
            "--assign 'u=cpu': node 'u' is in a body of 'y' (Loop), which runs on one device with all its bodies: "
            "assign that node");
}

TEST(ImpliedFleet, NonsenseIsRefused) {
  EXPECT_EQ(cut_of(kChain, {"b"}), "--assign 'b' is not PATTERN=DEVICE");
  EXPECT_EQ(cut_of(kChain, {"b=tpu"}),
            "--assign 'b=tpu': the fleet has no such device or kind of devices; it has 'cuda:0', 'cpu'");
  EXPECT_EQ(cut_of(kChain, {"q*=cpu"}), "--assign 'q*=cpu': no node has a matching name or operator");
  EXPECT_EQ(
      cut_of(kChain, {"b=cpu"}, {"x86-64-v3"}),
      "--assign moves nodes between a GPU and the CPU, but there is no GPU target; name other devices by --fleet");
  EXPECT_EQ(cut_of(kChain, {"b=cpu"}, {"sm_80"}),
            "--assign moves nodes between a GPU and the CPU, but there is no CPU target; add one, such as --target "
            "sm_80,x86-64-v3");
}

/// "OPTION 'REQUEST': REASON" for each request that has no effect on the remaining nodes of `model`.
std::vector<std::string> unmatched_requests(const char* model, const char* left, const CutOptions& options) {
  CutOptions cut = options;
  const Graph graph = graph_of(model);
  const std::optional<Fleet> fleet = implied_fleet(graph, targets({"sm_80", "x86-64-v3"}), cut);
  std::vector<std::string> said;
  for (const UnmatchedRequest& idle : NodeRequests(graph, *fleet, cut).without_effect(graph_of(left)))
    said.push_back(concat(idle.option, " '", idle.request, "': ", idle.reason));
  return said;
}

TEST(ImpliedFleet, WhatIsGoneAfterCleanUpIsSaid) {
  CutOptions cut = assigned({"b=cpu", "c=cpu"});
  cut.labels = {parse_node_request("--label", "c=mine"), parse_node_request("--label", "b=his")};
  EXPECT_EQ(unmatched_requests(kChain, "graph g(%x: f32[4,8]) -> (%b) {\n  %b = Softmax(%x)\n}", cut),
            (std::vector<std::string>{"--assign 'c=cpu': passes removed all work of 'c'",
                                      "--label 'c=mine': passes removed all work of 'c'"}));
}

TEST(ImpliedFleet, ALabelInABodyIsIdle) {
  CutOptions cut = assigned({"y=cpu"});
  cut.labels = {parse_node_request("--label", "u=mine")};
  EXPECT_EQ(unmatched_requests(kLoop, kLoop, cut),
            (std::vector<std::string>{"--label 'u=mine': node 'u' is in a body of 'y' (Loop), which runs on one device "
                                      "with all its bodies"}));
}

constexpr const char* kCustom = R"(graph g(%x: f32[4]) -> (%c) {
  %a = Exp(%x)
  %b = gart.Custom(%a) {gart.declaration = "acme::Twice(T[n]) -> T[n]"}
  %c = Neg(%b)
})";

TEST(ImpliedFleet, OnlyCpusRunOperatorsOfTheApplication) {
  EXPECT_EQ(cut_of(kCustom, {}),
            "g0: a on cuda:0: a\n"
            "g1: b on cpu: b\n"
            "g2: c on cuda:0: c\n");
  EXPECT_EQ(cut_of(kCustom, {}, {"x86-64-v3"}), "whole");
  EXPECT_EQ(cut_of(kCustom, {"b=cuda"}), "--assign 'b=cuda': node 'b' (gart.Custom) does not run there");
  const Graph graph = graph_of(kCustom);
  ASSERT_EQ(targets_of_whole(graph, targets({"sm_80", "x86-64-v3"})).size(), 1U);
  EXPECT_EQ(targets_of_whole(graph, targets({"sm_80", "x86-64-v3"}))[0].name, "x86-64-v3");
  try {
    targets_of_whole(graph, targets({"sm_80"}));
    FAIL();
  } catch (const CompileError& e) {
    EXPECT_EQ(std::string(e.what()),
              "node 'b' is, or holds, a custom operator, which only CPUs run, but there is no CPU target; add one, "
              "such as --target sm_80,x86-64-v3");
  }
}

}  // namespace
}  // namespace gcg::test
