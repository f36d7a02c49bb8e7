// Matrix operands seen through movement: strided views instead of copies.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// The value furthest upstream of `v`, through transposes, reshapes, slices and the like, of which `v` is a strided
/// view (every element at base + sum of index * stride). `v` itself if there is none. `on_host`: where the reader runs;
/// what moves elements elsewhere is not looked through.
ValueId strided_source(const Graph& graph, ValueId v, bool on_host);

}  // namespace gcg
