// Pass: canonicalize.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/passes/rewrite.h"

namespace gcg {

/// Rewrites node by node into fewer and simpler forms, until no rule applies.
/// Requires: an inferred graph in which every value has a shape.
/// Ensures: these are gone: Identity, Dropout, CastLike, Gemm, GlobalAveragePool; BatchNormalization with constant
///   parameters; views, casts, transposes, slices, pads, expands and tiles that change nothing. A node stays if a graph
///   output would otherwise be an input, a constant or another output. Views whose shape follows from the extents of
///   their inputs are gart.View.
/// Before: fold-constants, which computes the new constants, and fold-scale-shift.
/// Examples: Reshape(x[b,2,3], {0,-1}) -> gart.View(x) {shape = ["x0_0","6"]}
///           Reshape(Add(MatMul(x[b*s,8], w), c), {b,s,16}) -> Add(MatMul(gart.View(x) {shape = [..., "8"]}, w), c)
///           Transpose(Transpose(x, [0,2,1]), [0,2,1]) -> x
///           Gemm(x, w, c) {transB = 1} -> Add(MatMul(x, Transpose(w)), c)
///           Pow(x, {2}) -> Mul(x, x)
///           Reshape(InstanceNormalization(Reshape(x[b,c,h,w], {b,g,-1}), s, t), {b,c,h,w})
///             -> GroupNormalization(x, s, t) {num_groups = g, scale_per_group = 1}
bool canonicalize(Graph& graph);

/// A rule looks at one live node. It does nothing and returns false, or replaces the node's results, so that the node
/// is dead.
using Rule = bool (*)(Rewriter&, NodeId);
struct RuleFor {
  const OpDef* op;
  Rule rule;
};

// The rules by theme. The rules for a node's operator are tried in order.
const std::vector<RuleFor>& view_rules();           // canonicalize_views.cpp
const std::vector<RuleFor>& movement_rules();       // canonicalize_movement.cpp
const std::vector<RuleFor>& arithmetic_rules();     // canonicalize_arithmetic.cpp
const std::vector<RuleFor>& decomposition_rules();  // canonicalize_decompose.cpp
const std::vector<RuleFor>& normalization_rules();  // canonicalize_norms.cpp

}  // namespace gcg
