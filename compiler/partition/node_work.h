// Estimates the work of nodes before lowering, so that cuts can balance groups.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Operations of one run of the node, including its subgraphs. Symbolic extents have typical values.
double work_of(const Graph& graph, const Node& node);

/// Bytes of the value's elements in memory; 0 if the rank is not known.
double bytes_of(const Value& value);

}  // namespace gcg
