// States that grow are stored so that a run appends to them in place.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Finds the axis along which each state grows, and moves it to the front in memory: the state's input and output
/// become the first rows of one buffer. If the output is a Concat of the input and new rows, it becomes a gart.Append,
/// which writes only the new rows. Requires: every value has a rank. Ensures: the graph is inferred. Throws
/// CompileError if input and output differ in more than one axis, or in one whose extent is not a symbol. Example:
/// present = Concat(past[b,h,p,64], k[b,h,1,64])  ->  rows = Transpose(k); out = gart.Append(in[p,b,h,64], rows);
///          past = Transpose(in); present = Transpose(out)
bool append_states(Graph& graph);

}  // namespace gcg
