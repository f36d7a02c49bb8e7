// Stores a sequence whose number of elements and element extents are known only to a run as two tensors
// (SequencePart::Kind::packed).
#pragma once

#include "compiler/ops/node_builder.h"
#include "compiler/passes/sequence_part.h"

namespace gcg {

/// The inclusive prefix sums of a vector.
ValueId running_sum(NodeBuilder& b, ValueId vector);
/// Returns 0 if `v` (i64, rank 0) is 0. Otherwise an index that is out of range ends the run.
ValueId zero_or_fail(NodeBuilder& b, ValueId v);

/// The type of the first element whose rank is known.
std::optional<ElementType> element_type(const Graph& graph, const SequenceParts& sequence);
/// The whole sequence as one packed part. Nullopt if an element's rank is unknown or differs from that of `type`.
std::optional<SequencePart> packed(NodeBuilder& b, const SequenceParts& sequence, ElementType type);

/// The functions below take packed parts. A position is an integer; a negative one counts from the end. A position out
/// of range ends the run with an error.

ValueId packed_element(NodeBuilder& b, const SequencePart& sequence, ValueId position);
/// The sequence with the elements of `more` inserted before `position`, or appended if there is no `position`.
SequencePart packed_with(NodeBuilder& b, const SequencePart& sequence, const SequencePart& more, ValueId position);
/// The sequence without the element at `position`, or without the last one if there is no `position`.
SequencePart packed_without(NodeBuilder& b, const SequencePart& sequence, ValueId position);
/// All elements concatenated along `axis`; their other extents agree.
ValueId packed_join(NodeBuilder& b, const SequencePart& sequence, int64_t axis);
/// All elements stacked along a new dimension; they have the same shape.
ValueId packed_stack(NodeBuilder& b, const SequencePart& sequence, int64_t axis);

}  // namespace gcg
