// About how much work nodes are, before anything is lowered: what cuts weigh groups with.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Operations of one run of the node, bodies included, where open extents are typical ones.
double work_of(const Graph& graph, const Node& node);

/// Of its elements in memory; 0 where the rank is not known.
double bytes_of(const Value& value);

}  // namespace gcg
