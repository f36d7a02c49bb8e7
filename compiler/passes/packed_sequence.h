// Sequences whose number of elements and whose elements' extents only a run knows, as two tensors
// (SequencePart::Kind::packed).
#pragma once

#include "compiler/ops/node_builder.h"
#include "compiler/passes/sequence_part.h"

namespace gcg {

/// The sums of a vector's first elements, of one, of two, ...
ValueId running_sum(NodeBuilder& b, ValueId vector);
/// 0; where `v` (i64, rank 0) is not, an index that is out of range ends the run.
ValueId zero_or_fail(NodeBuilder& b, ValueId v);

/// The type of the first element whose rank is known.
std::optional<ElementType> element_type(const Graph& graph, const SequenceParts& sequence);
/// The whole sequence as one packed part. Nullopt where an element's rank is not known, or is not that of `type`.
std::optional<SequencePart> packed(NodeBuilder& b, const SequenceParts& sequence, ElementType type);

/// Those below take packed parts. Positions (an integer each) count from the end where they are negative; one that is
/// out of range ends the run.

ValueId packed_element(NodeBuilder& b, const SequencePart& sequence, ValueId position);
/// The sequence with those of `more` before `position`, or, where that is none, at its end.
SequencePart packed_with(NodeBuilder& b, const SequencePart& sequence, const SequencePart& more, ValueId position);
/// The sequence without one element: the last where `position` is none.
SequencePart packed_without(NodeBuilder& b, const SequencePart& sequence, ValueId position);
/// All elements, which agree in their other extents, side by side along `axis`.
ValueId packed_join(NodeBuilder& b, const SequencePart& sequence, int64_t axis);
/// All elements, which have one shape, along a new dimension.
ValueId packed_stack(NodeBuilder& b, const SequencePart& sequence, int64_t axis);

}  // namespace gcg
