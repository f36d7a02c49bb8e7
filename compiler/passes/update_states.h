// Updates states in place if each run replaces some of their rows.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// A TensorScatter that makes a state's output from its input becomes a gart.Append that replaces rows, if nothing else
/// reads the input. Input and output then share memory, and a run writes only the new rows. Circular updates stay,
/// because one new row could replace another.
/// Requires: the graph is inferred; append-states has run.
/// Ensures: a TensorScatter into a state that only it reads is left only if it is circular.
/// Example: present = TensorScatter(past, rows, first)  ->  present = gart.Append(past, rows, first) {replaces}
bool update_states(Graph& graph);

}  // namespace gcg
