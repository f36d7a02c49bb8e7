// Makes rows of one product from products by a matrix that several batches share.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// If Expand repeats the second factor of a MatMul along a batch axis, the repeated batches become rows of one product:
/// the factor is read once, and no copy of it is made. Grouped-query attention repeats keys and values this way.
/// Requires: clean-up has run. Ensures: the graph is inferred.
/// Example: MatMul(q[b,8,1,32], View(Expand(k[b,2,1,32,t] -> [b,2,4,32,t])))  ->
///          View(MatMul(View(q) as [b,2,4,32], View(k) as [b,2,32,t]))
bool group_queries(Graph& graph);

}  // namespace gcg
