// States that an entry point writes without reading them.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Adds states to graphs that lack the state's input. An example is a first model without past, next to one with past.
/// If an output of such a graph has the name of the output of another graph's state, it becomes the state's new value:
/// each run replaces the state. The state's input becomes a new input of the graph, which nothing reads.
/// Requires: the graphs' states are paired, and their outputs are inferred.
/// Throws CompileError if the output's type does not fit the state.
void add_written_states(const std::vector<Graph*>& graphs);

}  // namespace gcg
