// Fixing symbols: the graph of a static plan.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// A copy of the graph with these symbols replaced by numbers and types inferred anew.
/// Fails when a name is not an extent of the model (the message lists those that are), when a value is negative, or
/// when the model's constraints cannot hold for these values.
Graph specialise(const Graph& graph, const SymbolValues& fixed);

}  // namespace gcg
