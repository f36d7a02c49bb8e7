// What a gart.Attention node says: softmax(body(Q K)) V in f32, one kernel.
#pragma once

namespace gcg {

/// Q is [batch..., m, d], K [batch..., d, t], V [batch..., t, n]. The body makes of the product [batch..., m, t] and of
/// the node's captures the scores that the softmax along t takes, in the product's row-major order. Weights of rows
/// where `kept` (boolean, or left out) does not hold are zero; it broadcasts to the body's result.
enum : int { kFusedAttentionQ, kFusedAttentionK, kFusedAttentionV, kFusedAttentionKept };

/// Set to 1: weights that are NaN are zero, which is where a query has no key.
constexpr const char* kNanToZeroAttribute = "nan_to_zero";

}  // namespace gcg
