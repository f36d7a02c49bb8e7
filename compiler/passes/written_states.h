// States that an entry point writes without reading them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Adds a state to each graph that has the output of another graph's state, by name, but lacks the state's input. An
/// example is a first model without past, beside one with past. Each run of the graph replaces the state's value. The
/// state's input is a new input of the graph, which nothing reads. `written`: for a state that its graph only reads,
/// the name of the output that writes it. Requires: the graphs' states are paired, and their outputs are inferred.
/// Throws CompileError if the output's type does not fit the state.
void add_written_states(const std::vector<Graph*>& graphs, const std::map<std::string, std::string>& written);

}  // namespace gcg
