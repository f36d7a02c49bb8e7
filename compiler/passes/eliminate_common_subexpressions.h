// Pass: eliminate-common-subexpressions.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Computes equal things once.
/// Requires: nothing.
/// Ensures: no two nodes of a graph have the same operator, attributes and inputs, unless both give graph outputs, have
///   bodies or have extents that depend on data; no two constants are equal (exporters write weights
///   that several layers share once per layer); no two values of computed shapes that inference knows to have the same
///   elements are both read.
/// Before: fusion.
/// Example: a = Exp(x); b = Exp(x); y = Add(a, b) -> a = Exp(x); y = Add(a, a)
bool eliminate_common_subexpressions(Graph& graph);

}  // namespace gcg
