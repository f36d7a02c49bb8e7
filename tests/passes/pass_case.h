// Pass tests as text: every *.gir file in this folder holds cases of the form
//
//     CASE transposes cancel
//     RUN canonicalize, eliminate-dead-code
//     TARGET sm_80 fp16
//     graph g(%x: f32[2,3]) -> (%y) { ... }
//     EXPECT
//     graph g(%x: f32[2,3]) -> (%y) { ... }
//
// Without TARGET, the target is x86-64-v3. "EXPECT unchanged" needs no second graph. Names of inner values and nodes
// and the order of independent nodes do not matter. The graph is also interpreted before and after the passes, on
// random inputs; the results must agree.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg::test {

struct PassCase {
  std::string file, name;
  int line = 0;
  std::vector<std::string> passes;
  Target target;
  std::string before;
  std::string after;  // empty: unchanged
};

/// The cases of all files in a folder. Throws on a malformed file.
std::vector<PassCase> read_cases(const std::string& folder);
void run_case(const PassCase& c);

/// The graph's text, without node names. Inner values are named by their position in a walk from the outputs.
std::string normal_text(const Graph& graph);

}  // namespace gcg::test
