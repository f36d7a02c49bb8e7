// Cuts as text: every *.cut file in this folder holds cases of the form
//
//     CASE what an accelerator lacks is a group between two
//     FLEET acc -Min; cpu
//     GRAPH a -> b:Min -> c -> d, e -> d
//     CUT support
//     EXPECT {a} {b} {c,d,e}
//
// A node is of Max unless it says otherwise (a, b:Min) and reads what points at it, or the input. An edge that leaves
// by "a/1" or "a/2" carries one of two values. GIR instead: the graph's text follows (gir.h). FLEET names devices
// (their kind is what their names begin with, cpu where they begin otherwise) with the operators that they deny. LABEL,
// ASSIGN: PATTERN=GROUP, PATTERN=DEVICE. ORDER a b: a before b, though b reads nothing of it. KEEP: names of nodes.
// Expected are the groups in their order, nodes by name, or "error" and what the message has. With "any order" after
// them the order of groups does not count.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/partition/cut.h"

namespace gcg::test {

struct CutCase {
  std::string file, name;
  int line = 0;
  Fleet fleet;
  Graph graph;
  CutOptions options;
  std::string expected;
};

std::vector<CutCase> read_cut_cases(const std::string& folder);
/// "acc -Min -Exp; cpu"
Fleet parse_test_fleet(const std::string& text);
/// "a -> b, b -> c"
Graph parse_test_graph(const std::string& text);
/// "{a} {b} {c,d,e}"
std::string groups_text(const Graph& graph, const Cut& cut);
NodeId node_named(const Graph& graph, const std::string& name);

}  // namespace gcg::test
