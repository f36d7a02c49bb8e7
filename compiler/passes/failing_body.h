// A body that stands for a branch of an If that cannot be computed.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/support/unsupported.h"

namespace gcg {

/// A body with the inputs of `ill_typed` that ends a run with `error`'s message; its outputs are typed like those of
/// `other`, the If's other body. Throws NodeError(error) when those have unknown ranks. `name`: the If node's.
Graph failing_body(const Graph& ill_typed, const Graph& other, const std::string& name, const UnsupportedNode& error);

}  // namespace gcg
