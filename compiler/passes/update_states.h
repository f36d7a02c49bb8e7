// States of which each run replaces some rows are updated in place.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// A state whose output is a TensorScatter of its input, which nothing else reads, gets a gart.Append that replaces
/// rows: input and output are one memory, and a run writes the new rows only. Requires: the graph is inferred;
/// append-states has run. Unchanged: circular updates, in which one row could replace another.
///
///   present = TensorScatter(past, rows, first)  ->  present = gart.Append(past, rows, first) {replaces}
bool update_states(Graph& graph);

}  // namespace gcg
