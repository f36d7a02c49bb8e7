// Checks a pass on graphs in text form: what it leaves, and that interpreting before and after agrees.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "compiler/ir/graph.h"

namespace gcg::test {

/// How often each operator occurs, internal ones with their domain: {"gart.BlockedConv", 2}.
std::map<std::string, int> op_counts(const Graph& graph);

/// Runs `pass` on the graph, verifies it, and compares the interpreter's results before and after on inputs drawn from
/// a fixed seed, with symbols bound to `symbols`. Returns the graph after; fails the test if the pass says wrongly
/// whether it changed.
Graph check_rewrite(const std::string& text, const std::function<bool(Graph&)>& pass, bool changes,
                    const std::map<std::string, int64_t>& symbols = {});

}  // namespace gcg::test
