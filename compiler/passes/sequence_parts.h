// What take_sequences_apart knows of a sequence, and the tensors that operators make of it.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ops/node_builder.h"

namespace gcg {

struct Part {
  ValueId value;
  bool stacked = false;  // elements of equal shape, along its first dimension
  ValueId sizes;         // valid: elements one behind the other along `axis`, of these extents (i64, a vector)
  int64_t axis = 0;

  bool is_one_element() const { return !stacked && !sizes.valid(); }
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
std::optional<Parts> inserted(const Graph& graph, const Node& node, Parts sequence, std::string& why);
std::optional<Parts> erased(const Graph& graph, const Node& node, Parts sequence, std::string& why);
std::optional<ValueId> element_at(Graph& graph, const Node& node, const Parts& sequence, std::string& why);
std::optional<ValueId> concatenated(Graph& graph, const Node& node, const Parts& sequence, std::string& why);
ValueId length_of(NodeBuilder& b, const Parts& sequence);

}  // namespace gcg
