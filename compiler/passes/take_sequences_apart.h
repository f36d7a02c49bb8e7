// Sequences of tensors as the tensors in them.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: types inferred as far as they can be without the types of what comes out of sequences.
/// Ensures: no value is a sequence or an optional, in bodies neither; the graph is inferred.
/// Before: resolve-ranks, which fails where a rank is not known.
///
/// A sequence is a list of parts, each a tensor, a tensor whose first dimension counts elements of equal shape, or one
/// that is the elements one behind the other, with a vector of their lengths:
///   SplitToSequence(x), ConcatFromSequence(s) = Split(x), Concat(parts of s)
///   SplitToSequence(x, lengths), SequenceAt(s, i) = x, Slice(x, end i - length i, end i), ends the sums of lengths
///   a Loop that appends x to a sequence       = a Loop with the scan output x, which is the sequence's last part
///   a Loop of few, known iterations           = its body, as often
///   a SequenceMap of stacked elements         = a Loop whose scan outputs are stacked
/// What goes into or comes out of a body is passed part by part; an output that is a sequence becomes an output per
/// element. Throws UnsupportedModel with a row for each node whose sequence is none of this.
bool take_sequences_apart(Graph& graph);

}  // namespace gcg
