// Pass: eliminate-common-subexpressions.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Computes equal values once.
/// Requires: nothing.
/// Ensures: no two nodes of a graph have the same operator, attributes and inputs, unless both give graph outputs, have
///   subgraphs or have data-dependent extents. No two constants are equal (exporters repeat weights that several layers
///   share). If inference knows that two values of computed shapes have the same elements, only one of them is read.
/// Before: fusion.
/// Example: a = Exp(x); b = Exp(x); y = Add(a, b) -> a = Exp(x); y = Add(a, a)
bool eliminate_common_subexpressions(Graph& graph);

}  // namespace gcg
