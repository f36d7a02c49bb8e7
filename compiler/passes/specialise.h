// Fixes symbols, to make the graph of a static plan.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// A copy of the graph in which these symbols are numbers; types are inferred again. Fails if a name is not an extent
/// of the model, and lists the extents. Also fails if a value is negative, or if the values violate the model's
/// constraints.
Graph specialise(const Graph& graph, const SymbolValues& fixed);

/// The sets without the symbols that are not extents of the graph's inputs. Each set is there once, in the old order of
/// their last places.
std::vector<SymbolValues> sets_of(const Graph& graph, std::vector<SymbolValues> sets);

/// Replaces symbols in all types, facts and subgraphs, without inference.
void substitute_symbols(Graph& graph, const std::map<std::string, Dim>& replacements);

}  // namespace gcg
