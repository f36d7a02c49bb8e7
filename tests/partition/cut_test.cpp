#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "compiler/gir/gir.h"
#include "compiler/partition/by_crossings.h"
#include "compiler/partition/runs_on.h"
#include "compiler/support/error.h"
#include "tests/partition/cut_text.h"

namespace gcg::test {
namespace {

/// The groups in the text, sorted alphabetically.
std::string sorted(const std::string& text) {
  std::vector<std::string> groups;
  for (size_t begin = text.find('{'); begin != std::string::npos; begin = text.find('{', begin + 1))
    groups.push_back(text.substr(begin, text.find('}', begin) + 1 - begin));
  std::sort(groups.begin(), groups.end());
  std::string out;
  for (const std::string& g : groups) out += g;
  return out;
}

TEST(Cut, GroupsAreDividedWhereValuesCross) {
  // m1 -> m, q1 -> q: q must not wait for m.
  EXPECT_EQ(by_crossings(make_dag(4, {{0, 1}, {2, 3}}), {{0, 1, 2}, {3}}), (Groups{{0, 1}, {2}, {3}}));
  // m0 -> m1 -> z, q -> z: m0 and m1 must not wait for q.
  EXPECT_EQ(by_crossings(make_dag(4, {{0, 1}, {1, 3}, {2, 3}}), {{2}, {0, 1, 3}}), (Groups{{0, 1}, {2}, {3}}));
  // Nodes that wait for the same groups stay together.
  EXPECT_EQ(by_crossings(make_dag(4, {{0, 1}, {1, 2}, {2, 3}}), {{0}, {1, 2}, {3}}), (Groups{{0}, {1, 2}, {3}}));
}

TEST(Cut, Cases) {
  const std::vector<CutCase> cases = read_cut_cases(GCC_GRAPH_SOURCE_DIR "/tests/partition");
  ASSERT_GT(cases.size(), 30U);
  for (const CutCase& c : cases) {
    SCOPED_TRACE(concat(c.file, ".cut:", c.line, ": ", c.name));
    const bool any_order = c.expected.ends_with(" any order"), error = c.expected.starts_with("error ");
    try {
      const NodeRequests requests(c.graph, c.fleet, c.options);
      const Cut cut = cut_graph(c.graph, c.fleet, c.options, requests);
      const std::string got = groups_text(c.graph, cut);
      if (any_order)
        EXPECT_EQ(sorted(got), sorted(c.expected)) << print_cut(c.graph, c.fleet, cut);
      else
        EXPECT_EQ(got, c.expected) << print_cut(c.graph, c.fleet, cut);
    } catch (const CompileError& e) {
      EXPECT_TRUE(error) << e.what();
      EXPECT_NE(std::string(e.what()).find(c.expected.substr(error ? 6 : 0)), std::string::npos) << e.what();
    }
  }
}

std::string message_of(const auto& f) {
  try {
    f();
  } catch (const CompileError& e) {
    return e.what();
  }
  return "";
}

TEST(Cut, Rules) {
  EXPECT_EQ(print_cut_rules(parse_cut_rules("support,chains,shared,labels")), "support,chains,shared");
  EXPECT_EQ(print_cut_rules(parse_cut_rules("labels")), "support");
  EXPECT_EQ(
      message_of([] { parse_cut_rules("support,chain"); }),
      "--cut 'support,chain': there is no rule 'chain'; expected support, fewest, stages, chains, shared, labels");
  EXPECT_EQ(message_of([] { parse_cut_rules("chains,chains"); }), "--cut 'chains,chains' names 'chains' twice");
  EXPECT_EQ(message_of([] { parse_node_request("--label", "x"); }), "--label 'x' is not PATTERN=GROUP");
  EXPECT_EQ(message_of([] { parse_node_request("--assign", "=cpu"); }), "--assign '=cpu' is not PATTERN=DEVICE");
}

CutOptions labelled(const std::string& pattern, const std::string& group) {
  CutOptions options;
  options.labels.push_back({pattern, group, "--label"});
  return options;
}

CutOptions assigned(const std::string& pattern, const std::string& device) {
  CutOptions options;
  options.assignments.push_back({pattern, device, "--assign"});
  return options;
}

TEST(Cut, WishesThatMatchNothing) {
  const Graph graph = parse_test_graph("a -> b");
  const Fleet fleet = parse_test_fleet("acc:0; cpu:0");
  EXPECT_EQ(message_of([&] { NodeRequests(graph, fleet, labelled("conv*", "g")); }),
            "--label 'conv*=g': no node has a matching name or operator");
  EXPECT_EQ(message_of([&] { NodeRequests(graph, fleet, assigned("a", "cuda")); }),
            "--assign 'a=cuda': the fleet has no such device or kind of devices; it has 'acc:0', 'cpu:0'");
}

TEST(Cut, Patterns) {
  for (const auto& [pattern, text, fits] :
       std::vector<std::tuple<std::string, std::string, bool>>{{"Conv", "Conv", true},
                                                               {"Conv", "Conv1", false},
                                                               {"*", "", true},
                                                               {"?", "", false},
                                                               {"l*/a?d", "l0/x/add", true},
                                                               {"l*/a?d", "l0/ad", false},
                                                               {"*ab", "aab", true},
                                                               {"a*b*c", "aXbYbZc", true},
                                                               {"a*b*c", "aXbYbZ", false},
                                                               {"x[0]", "x[0]", true},
                                                               {"f16", "bf16", false}})
    EXPECT_EQ(fits_pattern(pattern, text), fits) << pattern << " " << text;
}

TEST(Cut, WhatTheFleetAsksFor) {
  EXPECT_EQ(print_cut_rules(default_rules(parse_test_fleet("cpu:0"))), "support");
  EXPECT_EQ(print_cut_rules(default_rules(parse_test_fleet("cuda:0; cpu:0"))), "support");
  EXPECT_EQ(print_cut_rules(default_rules(parse_test_fleet("cuda:0; cuda:1; cpu:0"))), "support,chains,stages");
}

TEST(Cut, DevicesForTrainingGetNothing) {
  const Graph graph = parse_test_graph("a -> b");
  Fleet fleet = parse_test_fleet("cpu:0; cpu:1; cpu:2");
  fleet.devices[1].infers = false;
  EXPECT_EQ(cut_graph(graph, fleet).groups.at(0).support, (std::vector<int>{0, 2}));
  EXPECT_EQ(message_of([&] { cut_graph(graph, fleet, {}, NodeRequests(graph, fleet, assigned("b", "cpu:1"))); }),
            "--assign 'b=cpu:1': node 'b' (Max) does not run there");
  fleet.devices[0].infers = fleet.devices[2].infers = false;
  EXPECT_EQ(print_cut_rules(default_rules(fleet)), "support");
  EXPECT_EQ(message_of([&] { cut_graph(graph, fleet); }),
            "node 'a' (Max): no device of the fleet runs it: 'cpu:0' is for training alone; 'cpu:1' is for training "
            "alone; 'cpu:2' is for training alone");
}

/// The graph after passes have rewritten a -> norm -> b: norm became three nodes.
constexpr const char* kExpanded = R"(graph g(%x: f32[4]) -> (%y) {
  %a = Exp(%x) @"a"
  %n1 = Neg(%a) @"norm"
  %n2 = Sqrt(%n1) @"norm"
  %n3 = Neg(%n2) @"norm"
  %y = Exp(%n3) @"b"
})";

TEST(Cut, ANodeOfTheModelStaysWhole) {
  const Graph graph = parse_graph(kExpanded);
  const auto cut = [&](const std::string& model, const std::string& devices) {
    const Graph imported = parse_graph("graph g(%x: f32[4]) -> (%b) {\n" + model + "}");
    const Fleet fleet = parse_test_fleet(devices);
    return print_cut(graph, fleet, cut_graph(graph, fleet, {}, NodeRequests(imported, fleet, {})));
  };
  const std::string model = "%a = Exp(%x)\n%norm = Relu(%a)\n%b = Exp(%norm)\n";
  EXPECT_EQ(cut(model, "acc -Sqrt; cpu"),
            "g0: a on acc,cpu: a\n"
            "g1: norm..norm on cpu: norm, norm, norm\n"
            "g2: b on acc,cpu: b\n");
  EXPECT_EQ(cut(model, "acc -Sqrt; other -Neg"),
            "g0: a on acc,other: a\n"
            "g1: norm on acc: norm\n"
            "g2: norm on other: norm\n"
            "g3: norm on acc: norm\n"
            "g4: b on acc,other: b\n")
      << "no device runs all of it";
  EXPECT_EQ(cut("%a = Exp(%x)\n%n = Neg(%a) @\"norm\"\n%m = Neg(%n) @\"norm\"\n%b = Exp(%m)\n", "acc -Sqrt; cpu"),
            "g0: a..norm on acc,cpu: a, norm\n"
            "g1: norm on cpu: norm\n"
            "g2: norm..b on acc,cpu: norm, b\n")
      << "two nodes of one name";
}

TEST(Cut, GroupsAreNamedByTheirNodes) {
  const Graph graph = parse_test_graph("a -> b -> c:Min -> d");
  const Fleet fleet = parse_test_fleet("acc -Min; cpu");
  const NodeRequests requests(graph, fleet, labelled("d", "tail"));
  EXPECT_EQ(print_cut(graph, fleet, cut_graph(graph, fleet, {}, requests)),
            "g0: a..b on acc,cpu: a, b\n"
            "g1: c on cpu: c\n"
            "tail on acc,cpu: d\n");
}

}  // namespace
}  // namespace gcg::test
