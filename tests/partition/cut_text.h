// Cuts as text: every *.cut file in this folder holds cases of the form
//
//     CASE what an accelerator lacks is a group between two
//     FLEET acc -Min; cpu
//     GRAPH a -> b:Min -> c -> d, e -> d
//     CUT support
//     EXPECT {a} {b} {c,d,e}
//
// A node is a Max unless an operator is given (a, b:Min). It reads the nodes with edges to it, or the input. An edge
// from "a/1" or "a/2" carries one of two values. With GIR instead of GRAPH, the graph's text follows (gir.h). FLEET
// names devices with the operators that they deny. The device's kind is a prefix of its name, or else cpu. LABEL has
// PATTERN=GROUP, ASSIGN has PATTERN=DEVICE. ORDER a b: a runs before b, although b reads no value of a. KEEP has names
// of nodes. EXPECT has the groups in order, with nodes by name, or "error" and a part of the message. After "any order"
// the order of groups does not count.
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
