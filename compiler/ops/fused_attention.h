// The inputs and attributes of gart.Attention: softmax(change(Q K)) V in f32, one kernel. Its subgraph is the change.
#pragma once

namespace gcg {

/// Q is [batch..., m, d], K [batch..., d, t], V [batch..., t, n]. The subgraph has the product [batch..., m, t] and the
/// node's captures as inputs. It computes the scores for the softmax along t, in the product's row-major order. `kept`
/// is boolean, optional, and broadcasts to the subgraph's result. Rows where it is false have zero weights.
enum : int { kFusedAttentionQ, kFusedAttentionK, kFusedAttentionV, kFusedAttentionKept };

/// If set to 1, NaN weights become zero. They occur where a query has no key.
constexpr const char* kNanToZeroAttribute = "nan_to_zero";

}  // namespace gcg
