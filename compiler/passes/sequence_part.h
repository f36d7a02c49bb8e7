// Storage of a sequence as parts.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

struct SequencePart {
  enum class Kind : uint8_t {
    element,
    stacked,  // elements of equal shape, stacked along the first dimension
    pieces,   // elements concatenated along `axis`; `table` (i64 vector) has their extents
    packed,   // a vector of all numbers, element by element, row-major; `table` has a shape per row
  };
  ValueId value;
  Kind kind = Kind::element;
  ValueId table = {};
  int64_t axis = 0;  // packed: the rank of the elements

  bool is_element() const { return kind == Kind::element; }
};

/// The properties that all elements of a sequence share.
struct ElementType {
  DType dtype;
  int64_t rank;
};

/// A sequence, or an optional, which has at most one part.
struct SequenceParts {
  std::vector<SequencePart> parts;
  bool is_optional = false;

  /// The number of elements, if it is known.
  std::optional<int64_t> length() const {
    if (!std::all_of(parts.begin(), parts.end(), [](const SequencePart& p) { return p.is_element(); }))
      return std::nullopt;
    return static_cast<int64_t>(parts.size());
  }
};

}  // namespace gcg
