// Pass: select_branches (target pass, CUDA).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Replaces an If by both of its bodies and a Where for each result, if the work of either body costs less than a
/// branch that the GPU decides (kConditionalNode). Kernels around the branch can then fuse with its bodies.
///
/// Both bodies always run then, so the pass takes only bodies that cannot fail: their nodes compute or move elements
/// without indices from data, their extents are known before the run, and they make no assumptions. The results of both
/// bodies have the same type and shape.
///
/// Example: If(c) { Neg(x) } { Exp(x) } -> Where(c, Neg(x), Exp(x))
bool select_branches(Graph& graph);

}  // namespace gcg
