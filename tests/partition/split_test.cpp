#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "compiler/gir/gir.h"
#include "compiler/partition/cut_cost.h"
#include "compiler/partition/needed.h"
#include "compiler/support/error.h"
#include "tests/partition/cut_text.h"
#include "tests/partition/random_graph.h"
#include "tests/partition/run_assembly.h"

namespace gcg::test {
namespace {

/// Groups of `size` consecutive nodes.
Cut cut_every(const Graph& graph, size_t size) {
  Cut cut;
  for (NodeId id : graph.order()) {
    if (cut.groups.empty() || cut.groups.back().nodes.size() == size)
      cut.groups.push_back({concat("g", cut.groups.size()), {}, {0}});
    cut.groups.back().nodes.push_back(id);
  }
  return cut;
}

ValueId value_named(const Graph& graph, const std::string& name) {
  for (int64_t v = 0; v < graph.value_count(); ++v)
    if (graph.value(ValueId(v)).name == name) return ValueId(v);
  return ValueId();
}

TEST(Split, RandomGraphsGiveTheSameBits) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    const Graph graph = parse_graph(random_graph(seed, 24));
    const Assembly assembly = split(graph, cut_every(graph, 1 + seed % 5), {});
    expect_sound(assembly);
    expect_same_results(graph, assembly, 3);
    if (::testing::Test::HasFailure()) break;
  }
}

TEST(Split, OutputsThatAreInputsOrConstantsAreCopied) {
  const Graph graph = parse_graph(R"(graph g(%x: f32[n]) -> (%x, %c, %y) {
    constant %c: f32[2] = {1, 2}
    %y = Neg(%x)
  })");
  const Assembly assembly = split(graph, cut_every(graph, 1), {});
  expect_sound(assembly);
  expect_same_results(graph, assembly, 3);
  EXPECT_EQ(assembly.graph.value(assembly.graph.outputs[1]).name, "c") << "as the caller knows it";
}

TEST(Split, AnExtentCrossesWithAValueThatIsThereBefore) {
  const Graph graph = parse_graph(R"(graph g(%x: f32[1], %n: i64[]) -> (%y) {
    constant %zero: i64[] = {0}
    constant %one: i64[] = {1}
    %r = Range(%zero, %n, %one)
    %s = Shape(%r)
    %y = Expand(%x, %s)
  })");
  const Assembly assembly = split(graph, cut_every(graph, 1), {});
  // {r} {s} {y}: no node reads the elements of r, but its extent crosses with it. y has the same extent, but also needs
  // it as an input.
  ASSERT_EQ(assembly.symbols.size(), 1U);
  EXPECT_EQ(assembly.symbols[0].value, value_named(assembly.graph, "r"));
  expect_sound(assembly);
  expect_same_results(graph, assembly, 3);
}

TEST(Split, EqualPartsAreThereOnce) {
  const Graph graph = parse_graph(R"(graph g(%x: f32[n,4]) -> (%d) {
    constant %w: f32[4,4] = random(1)
    constant %v: f32[4,4] = random(1)
    constant %other: f32[4,4] = random(2)
    %a = MatMul(%x, %w)
    %b = MatMul(%a, %v)
    %c = MatMul(%b, %other)
    %d = MatMul(%c, %w)
  })");
  const Assembly assembly = split(graph, cut_every(graph, 1), {});
  ASSERT_EQ(assembly.calls.size(), 4U);
  EXPECT_EQ(assembly.parts.size(), 2U) << "data decides, not whose";
  EXPECT_EQ(assembly.calls[0].part, assembly.calls[1].part);
  EXPECT_NE(assembly.calls[0].part, assembly.calls[2].part);
  EXPECT_EQ(assembly.calls[0].part, assembly.calls[3].part);
  expect_same_results(graph, assembly, 3);
}

TEST(Split, ShapeArithmeticDoesNotCross) {
  const Graph graph = parse_graph(R"(graph g(%x: f32[n,6], %z: f32[m,2]) -> (%y) {
    constant %two: i64[1] = {2}
    constant %rest: i64[1] = {-1}
    %e = Shape(%x) {start = 0, end = 1}
    %d = Mul(%e, %two)
    %to = Concat(%d, %rest) {axis = 0}
    %a = Neg(%x)
    %r = Reshape(%a, %to)
    %y = Relu(%r)
  })");
  const Assembly assembly = split(graph, cut_every(graph, 2), {});
  // {e, d} {to, a} {r, y}: the first group has no work left, and the last group computes the shape from its own input.
  ASSERT_EQ(assembly.calls.size(), 2U);
  EXPECT_EQ(assembly.calls[0].nodes, std::vector<std::string>{"a"});
  EXPECT_EQ(assembly.calls[1].inputs, std::vector<ValueId>{value_named(assembly.graph, "a")});
  expect_sound(assembly);
  expect_same_results(graph, assembly, 3);
}

/// Names of the nodes in the calls on which a value depends.
std::vector<std::string> nodes_needed(const Assembly& assembly, ValueId wanted) {
  std::map<ValueId, int> maker;
  for (size_t c = 0; c < assembly.calls.size(); ++c)
    for (ValueId v : assembly.calls[c].outputs) maker[v] = static_cast<int>(c);
  const auto each_before = [&](int c, const auto& see) {
    for (ValueId v : assembly.calls[static_cast<size_t>(c)].inputs)
      if (const auto it = maker.find(v); it != maker.end()) see(it->second);
  };
  std::vector<std::string> names;
  for (int c :
       needed(static_cast<int>(assembly.calls.size()), {maker.at(wanted)}, [](int) { return false; }, each_before))
    for (const std::string& name : assembly.calls[static_cast<size_t>(c)].nodes) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Split, AKeptValueRunsWhatItNeedsAlone) {
  const Graph graph = parse_test_graph(
      "302 -> 304, 302 -> 306, 304 -> 316, 306 -> 308, 306 -> 310, 308 -> 312, 310 -> 312, 312 -> 314");
  for (const char* rules : {"support", "chains", "chains,shared"}) {
    CutOptions options;
    options.rules = parse_cut_rules(rules);
    const Cut cut = cut_graph(graph, parse_test_fleet("cpu:0; cpu:1"), options);
    const Assembly assembly = split(graph, cut, {value_named(graph, "310")});
    expect_sound(assembly);
    expect_same_results(graph, assembly, 3);
    EXPECT_EQ(nodes_needed(assembly, value_named(assembly.graph, "310")),
              (std::vector<std::string>{"302", "306", "310"}))
        << rules;
  }
}

/// 308 and 310 must read the result of 306 in its part and at its position.
TEST(Split, ReadersThatStayTogetherReadOneAddress) {
  const Graph graph = parse_test_graph(
      "302/1 -> 304, 302/2 -> 306, 304 -> 316, 306 -> 308, 306 -> 310, 308 -> 312, 310 -> 312, 312 -> 314");
  CutOptions options;
  options.rules = parse_cut_rules("chains,shared");
  const Assembly assembly = split(graph, cut_graph(graph, parse_test_fleet("cpu:0; cpu:1"), options), {});
  const auto call = std::find_if(assembly.calls.begin(), assembly.calls.end(), [](const PartCall& c) {
    return c.nodes == std::vector<std::string>{"306", "308", "310"};
  });
  ASSERT_NE(call, assembly.calls.end());
  const Graph& part = assembly.parts[static_cast<size_t>(call->part)].graph;
  const ValueId read = part.node(node_named(part, "308")).inputs.at(0);
  EXPECT_EQ(part.node(node_named(part, "310")).inputs.at(0), read);
  EXPECT_EQ(part.value(read).producer, node_named(part, "306"));
}

TEST(Split, WhatACutCosts) {
  const Graph graph = parse_test_graph("a -> b:Softmax -> c:Softmax -> d, a -> d");
  Cut cut = cut_every(graph, 1);
  const std::vector<GroupCost> costs = cost_of_cut(split(graph, cut, {}));
  ASSERT_EQ(costs.size(), 4U);
  EXPECT_EQ(costs[0].bytes_in, 0) << "the caller's";
  EXPECT_EQ(costs[0].bytes_out, 8) << "f32[2], once for both readers";
  EXPECT_EQ(costs[3].bytes_in, 16);
  EXPECT_EQ(costs[1].fusions_lost, 1) << "a works element by element";
  EXPECT_EQ(costs[2].fusions_lost, 0);
  EXPECT_EQ(costs[3].fusions_lost, 2);
}

TEST(Split, KeptValuesCross) {
  const Graph graph = parse_graph(R"(graph g(%x: f32[n]) -> (%c) {
    %a = Neg(%x)
    %b = Relu(%a)
    %c = Exp(%b)
  })");
  const Assembly assembly = split(graph, cut_every(graph, 3), {value_named(graph, "a")});
  std::vector<ValueId> outputs;
  for (const PartCall& call : assembly.calls) outputs.insert(outputs.end(), call.outputs.begin(), call.outputs.end());
  EXPECT_NE(std::find(outputs.begin(), outputs.end(), value_named(assembly.graph, "a")), outputs.end());
  ASSERT_EQ(assembly.parts.size(), 2U) << "of one group";
  EXPECT_EQ(assembly.parts[0].graph.name, "g0");
  EXPECT_EQ(assembly.parts[1].graph.name, "g0, 2");
  expect_same_results(graph, assembly, 3);
}

}  // namespace
}  // namespace gcg::test
