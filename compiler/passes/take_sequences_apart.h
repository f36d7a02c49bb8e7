// Replaces sequences of tensors by tensors.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: types are inferred as far as possible without the types of sequence elements.
/// Ensures: no value is a sequence or an optional, subgraphs included; the graph is inferred.
/// Before: resolve-ranks, which fails if a rank is not known.
///
/// A sequence is a list of parts (sequence_part.h). Each part is one of these:
///   * a tensor: one element;
///   * a tensor whose first dimension counts elements of equal shape;
///   * the concatenated elements with a vector of their lengths;
///   * the vector of all numbers with a table of the elements' shapes, for everything that only a run knows.
/// The rewrites:
///   SplitToSequence(x), ConcatFromSequence(s) = Split(x), Concat(parts of s)
///   SplitToSequence(x, lengths), SequenceAt(s, i) = x, Slice(x, end i - length i, end i); end: sums of lengths
///   SequenceErase(s, i), i known              = s without part i
///   SequenceErase(s, i), i not known          = Concat(numbers[:begin i], numbers[end i:]), and the same for shapes
///   a Loop of few, known iterations           = its subgraph, repeated
///   a Loop that appends x of a fixed shape    = a Loop with the scan output x, which is the sequence's last part
///   a Loop that changes a sequence otherwise  = a Loop that carries numbers and shapes
///   a SequenceMap of unknown length           = a Loop that appends
/// Inputs and outputs of subgraphs are passed part by part, and packed if branches differ. A graph output that is a
/// sequence becomes one output per element. If only a run knows the number of elements, it becomes NAME.numbers and
/// NAME.shapes. Throws UnsupportedModel with a row for each node with any other sequence.
bool take_sequences_apart(Graph& graph);

}  // namespace gcg
