// Pass: select_branches (target pass, CUDA).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Replaces an If by both of its subgraphs and a Where for each result. The work of either subgraph must cost less than
/// a branch that the GPU decides (kConditionalNode). Kernels around the branch can then fuse with the subgraphs.
///
/// Both subgraphs always run then, so the pass takes only subgraphs that cannot fail: their nodes compute or move
/// elements without indices from data, their extents are known before the run, and they make no assumptions. The
/// results of both subgraphs have the same type and shape.
///
/// Ensures: no If is left whose subgraphs cannot fail and cost less than a branch.
/// Example: If(c) { Neg(x) } { Exp(x) } -> Where(c, Neg(x), Exp(x))
bool select_branches(Graph& graph);

}  // namespace gcg
