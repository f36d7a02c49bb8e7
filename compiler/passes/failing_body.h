// The subgraph that replaces an If branch that cannot be computed.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/support/unsupported.h"

namespace gcg {

/// A subgraph with the inputs of `ill_typed` that ends a run with the message of `error`. Its outputs have the types of
/// the outputs of `other`, the If's other subgraph. Throws NodeError(error) if these outputs have unknown ranks.
/// `name`: the If node's name.
Graph failing_body(const Graph& ill_typed, const Graph& other, const std::string& name, const UnsupportedNode& error);

}  // namespace gcg
