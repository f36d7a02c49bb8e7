// The inputs and attributes of gart.Attention: softmax(body(Q K)) V in f32, one kernel.
#pragma once

namespace gcg {

/// Q is [batch..., m, d], K [batch..., d, t], V [batch..., t, n]. The body turns the product [batch..., m, t] and the
/// node's captures into the scores for the softmax along t, in the product's row-major order. `kept` is boolean,
/// optional, and broadcasts to the body's result; rows where it is false have zero weights.
enum : int { kFusedAttentionQ, kFusedAttentionK, kFusedAttentionV, kFusedAttentionKept };

/// If set to 1, NaN weights become zero. They occur where a query has no key.
constexpr const char* kNanToZeroAttribute = "nan_to_zero";

}  // namespace gcg
