// Checks a pass on graphs in text form: its result, and that the interpreter agrees before and after.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "compiler/ir/graph.h"

namespace gcg::test {

/// The number of nodes of each operator, internal ones with their domain: {"gart.BlockedConv", 2}.
std::map<std::string, int> op_counts(const Graph& graph);

/// Runs `pass` on the graph, verifies it, and compares the interpreter's results before and after on inputs from a
/// fixed seed, with symbols bound to `symbols`. Returns the resulting graph. Fails the test if the pass's return value
/// does not say whether it changed the graph.
Graph check_rewrite(const std::string& text, const std::function<bool(Graph&)>& pass, bool changes,
                    const std::map<std::string, int64_t>& symbols = {});

}  // namespace gcg::test
