// Makes states of outputs that the caller would otherwise pass to inputs of the next run.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// `requests`: "auto", which pairs names like "past_key_values.0.key" and "present.0.key", or "PAST=PRESENT", where a
/// "*" in both matches the same text. Each pair of a graph becomes a state with the input's name. The inputs and
/// outputs of all states, including existing ones, move behind those of the caller (order_states.h). Graphs share
/// states of the same name. A graph that has only the output of a state writes the state (written_states.h). With
/// "auto", a graph reads a state without writing it if another graph has the output but lacks the input. `capacity`:
/// limit of the extent along which states grow; 0: none. `window`: see append_caches.h. Throws CompileError for a
/// request without a pair in any graph, a name in two pairs, and pairs of different element types.
void pair_states(const std::vector<Graph*>& graphs, const std::vector<std::string>& requests, int64_t capacity,
                 int64_t window);

/// Throws CompileError if graphs have a state of the same name, but of different types, growing axes, owners or first
/// values. Requires: append-states has run.
void check_shared_states(const std::vector<const Graph*>& graphs);

}  // namespace gcg
