// What take_sequences_apart knows of a sequence, and the tensors that operators make of it.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ops/node_builder.h"

namespace gcg {

struct Part {
  enum class Kind : uint8_t {
    element,
    stacked,  // elements of equal shape, along its first dimension
    pieces,   // elements one behind the other along `axis`, of the extents in `table` (i64, a vector)
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
struct Parts {
  std::vector<Part> parts;
  bool is_optional = false;

  /// How many elements it has, if that is known.
  std::optional<int64_t> length() const;
};

/// The values of an integer tensor of one element or, `many`, of a vector, if the compiler knows them.
std::optional<int64_t> known_number(const Graph& graph, ValueId v);

/// Nullopt where the node cannot be taken apart (yet); `why` says what is missing then.
std::optional<Parts> split_parts(Graph& graph, const Node& node, std::string& why);
std::optional<Parts> inserted(Graph& graph, const Node& node, Parts sequence, std::string& why);
std::optional<Parts> erased(Graph& graph, const Node& node, Parts sequence, std::string& why);
std::optional<ValueId> element_at(Graph& graph, const Node& node, const Parts& sequence, std::string& why);
std::optional<ValueId> concatenated(Graph& graph, const Node& node, const Parts& sequence, std::string& why);
ValueId length_of(NodeBuilder& b, const Parts& sequence);

}  // namespace gcg
