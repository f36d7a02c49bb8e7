// Orders the inputs and outputs of a graph, those of states last.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Moves the inputs and outputs of states behind those of the caller, in the order of the states, whatever the order
/// was. A state whose output is its own input becomes one that is not written (compiler/ir/states.h). If a new value is
/// also another output, an input or a constant, it is copied by a node, because the state has its own memory for it.
/// Throws CompileError for an input or output that is in two states, or a name that two states have.
/// Example: (%w, %x) -> (%next, %y) with state "w" %w -> %next becomes (%x, %w) -> (%y, %next).
void order_states(Graph& graph);

/// Throws CompileError if a first value does not have the type of its state. Also if an extent of a state is open or
/// changes, and the state has a first value or belongs to the program. Requires: the graph is inferred.
void check_states(const Graph& graph);

}  // namespace gcg
