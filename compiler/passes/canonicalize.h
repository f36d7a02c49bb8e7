// Pass: canonicalize.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/passes/rewrite.h"

namespace gcg {

/// Rewrites node by node into fewer and simpler forms, until no rule applies.
/// Requires: an inferred graph in which every value has a shape.
/// Ensures: no Identity, Dropout, CastLike, Gemm or GlobalAveragePool is left, no BatchNormalization whose parameters
/// are
///   constants, no view, cast, transpose, slice, pad, expand or tile that changes nothing - except where a graph output
///   would otherwise be an input, a constant or another output. Views whose shape the extents of their inputs determine
///   are gart.View.
/// Before: fold-constants, which computes the new constants, and fold-scale-shift.
/// Examples: Reshape(x[b,2,3], {0,-1}) -> gart.View(x) {shape = ["x0_0","6"]}
///           Reshape(Add(MatMul(x[b*s,8], w), c), {b,s,16}) -> Add(MatMul(gart.View(x) {shape = [..., "8"]}, w), c)
///           Transpose(Transpose(x, [0,2,1]), [0,2,1]) -> x
///           Gemm(x, w, c) {transB = 1} -> Add(MatMul(x, Transpose(w)), c)
///           Pow(x, {2}) -> Mul(x, x)
///           Reshape(InstanceNormalization(Reshape(x[b,c,h,w], {b,g,-1}), s, t), {b,c,h,w})
///             -> GroupNormalization(x, s, t) {num_groups = g, scale_per_group = 1}
bool canonicalize(Graph& graph);

/// A rule looks at one live node and either does nothing (false) or replaces what the node computes, leaving it dead.
using Rule = bool (*)(Rewriter&, NodeId);
struct RuleFor {
  const OpDef* op;
  Rule rule;
};

// The rules by theme; a node is offered to those for its operator in order.
const std::vector<RuleFor>& view_rules();           // canonicalize_views.cpp
const std::vector<RuleFor>& movement_rules();       // canonicalize_movement.cpp
const std::vector<RuleFor>& arithmetic_rules();     // canonicalize_arithmetic.cpp
const std::vector<RuleFor>& decomposition_rules();  // canonicalize_decompose.cpp
const std::vector<RuleFor>& normalization_rules();  // canonicalize_norms.cpp

}  // namespace gcg
