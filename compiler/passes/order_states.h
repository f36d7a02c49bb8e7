// Orders the inputs and outputs of a graph, those of states last.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Moves the inputs and outputs of states behind those of the caller, in the order of the states. A state whose output
/// is its own input becomes a state that is not written (compiler/ir/states.h). If a new value is also another output,
/// an input or a constant, a new node copies it, because the state has its own memory for the value.
/// Throws CompileError for an input or output that is in two states, or a name that two states have.
/// Example: (%w, %x) -> (%next, %y) with state "w" %w -> %next becomes (%x, %w) -> (%y, %next).
void order_states(Graph& graph);

/// Throws CompileError if a first value does not have the type of its state. A state that has a first value or belongs
/// to the program must have constant extents that never change; if not, throws, too. Requires: the graph is inferred.
void check_states(const Graph& graph);

}  // namespace gcg
