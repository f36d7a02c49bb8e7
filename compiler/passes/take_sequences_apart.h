// Sequences of tensors as the tensors in them.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: types inferred as far as they can be without the types of what comes out of sequences.
/// Ensures: no value is a sequence or an optional, in bodies neither; the graph is inferred.
/// Before: resolve-ranks, which fails where a rank is not known.
///
/// A sequence is a list of parts, each a tensor, a tensor whose first dimension counts elements of equal shape, one
/// that is the elements one after the other with a vector of their lengths, or the vector of all their numbers with a
/// table of their shapes, which is what anything is that only a run knows:
///   SplitToSequence(x), ConcatFromSequence(s) = Split(x), Concat(parts of s)
///   SplitToSequence(x, lengths), SequenceAt(s, i) = x, Slice(x, end i - length i, end i), ends the sums of lengths
///   SequenceErase(s, i), i known, not known   = s without part i; Concat(numbers[:begin i], numbers[end i:]), of
///   shapes, too a Loop of few, known iterations           = its body, as often a Loop that appends x to a sequence = a
///   Loop with the scan output x, which is the sequence's last part
///   ... x of a shape that changes, or that changes it otherwise = a Loop that carries numbers and shapes
///   a SequenceMap of unknown length           = a Loop that appends
/// What goes into or comes out of a body is passed part by part, packed where branches differ; an output that is a
/// sequence becomes an output per element, or, where only a run knows how many, NAME.numbers and NAME.shapes. Throws
/// UnsupportedModel with a row for each node whose sequence is none of this.
bool take_sequences_apart(Graph& graph);

}  // namespace gcg
