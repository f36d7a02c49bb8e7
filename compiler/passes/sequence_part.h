// How a sequence is stored: as parts.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

struct SequencePart {
  enum class Kind : uint8_t {
    element,
    stacked,  // elements of equal shape, along its first dimension
    pieces,   // elements one after the other along `axis`, of the extents in `table` (i64, a vector)
    packed,  // the vector of all elements' numbers, row-major, element by element, whose shapes are the rows of `table`
  };
  ValueId value;
  Kind kind = Kind::element;
  ValueId table = {};
  int64_t axis = 0;  // packed: the rank of the elements

  bool is_element() const { return kind == Kind::element; }
};

/// What all elements of a sequence have in common.
struct ElementType {
  DType dtype;
  int64_t rank;
};

/// A sequence, or an optional: one part, or none.
struct SequenceParts {
  std::vector<SequencePart> parts;
  bool is_optional = false;

  /// How many elements it has, if that is known.
  std::optional<int64_t> length() const {
    if (!std::all_of(parts.begin(), parts.end(), [](const SequencePart& p) { return p.is_element(); }))
      return std::nullopt;
    return static_cast<int64_t>(parts.size());
  }
};

}  // namespace gcg
