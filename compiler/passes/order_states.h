// Where a graph lists the inputs and outputs of its states.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Moves the inputs and outputs of states behind those of the caller, in the order of the states, whatever the order
/// was. A state whose output is its own input becomes one that is not written (compiler/ir/states.h). A new value that
/// is also another output, an input or a constant gets a node of its own, since memory of its own receives it. Throws
/// CompileError for an input or output that is in two states, or a name that two states have. Example: (%w, %x) ->
/// (%next, %y) with state "w" %w -> %next becomes (%x, %w) -> (%y, %next).
void order_states(Graph& graph);

/// Throws CompileError if a first value is not of the type of its state, or an extent of a state with a first value or
/// of the program's is open or changes. Requires: the graph is inferred.
void check_states(const Graph& graph);

}  // namespace gcg
