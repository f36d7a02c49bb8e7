// Fixes extents that the model leaves open although its weights and operators determine them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Pass: settle-extents. An input extent that only one number satisfies becomes that number, so that layouts and
/// kernels can be chosen for it. A run with another number is refused by the check of its inputs. If only one
/// number satisfies a run-bound extent, readers of the value read a view with that number, and the run checks it.
/// Requires: an inferred graph.
/// Ensures: no fact of the outermost graph has the form n == 3, where n is an extent of the inputs and the fact holds
///   in every run. Extents of inputs that may broadcast stay open. The graph is inferred.
/// Before: resolve-ranks, because a known extent may make a rank known.
/// Example: Conv(x[b,c,h,w], weights[64,3,7,7]) -> the same with x[b,3,h,w]
bool settle_extents(Graph& graph);

/// The shapes of the graph's inputs. Requires: they are known.
std::vector<Shape> input_shapes(const Graph& graph);
/// The symbols of inputs with these shapes that are numbers in `graph`.
SymbolValues settled_since(const std::vector<Shape>& declared, const Graph& graph);
/// The values of --dim without those of settled symbols. Fails if a settled symbol has another value.
using DimValues = std::vector<std::pair<std::string, std::vector<int64_t>>>;
DimValues without_settled(DimValues dims, const SymbolValues& settled);

}  // namespace gcg
