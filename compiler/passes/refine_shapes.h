// Pass: refine-shapes.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Infers all shapes again, from what folding has made known: symbols that stood for unknown extents become expressions.
/// Requires: sink-constants and fold-constants, and no pass before it that replaces nodes which assume something about
///   extents: the graph's constraints are collected anew.
/// Before: resolve-ranks, which copies shapes into gart.Fail.
/// Example: constant p = {0,0,0,64}; y: f32[padded,padded_1] = Pad(x: f32[n,m], p)  ->  y: f32[n,m + 64]
bool refine_shapes(Graph& graph);

}  // namespace gcg
