// The parameters of an Attention node, for inference and for the pass that rewrites it as plain operators.
#pragma once

#include <optional>

#include "compiler/ops/op_support.h"

namespace gcg {

enum : size_t {
  kAttentionQ,
  kAttentionK,
  kAttentionV,
  kAttentionMask,
  kAttentionPastKey,
  kAttentionPastValue,
  kAttentionValidKeys
};

/// Extents: B batch, H query heads, G key and value heads (H is a multiple of G), S queries, T keys including past
/// ones, D head size of queries and keys, E head size of values.
struct AttentionParams {
  bool packed_heads = false;  // 3-D inputs: [B, sequence, heads * head size]
  Dim batch, query_heads, key_heads, queries, keys, past, head, value_head;
  bool causal = false;
  double softcap = 0;                           // 0: none
  std::optional<double> scale;                  // without a value it is 1 / sqrt(D)
  int64_t left_window = -1, right_window = -1;  // -1: unbounded
  int64_t qk_output_mode = 0;
  std::optional<DType> softmax_dtype;
};

/// The shapes belong to Q, K, V and past_key, which may be null. Fails, naming the node, on ranks, head counts and
/// attributes that do not fit.
AttentionParams attention_params(const Node& node, const Shape& q, const Shape& k, const Shape& v,
                                 const Shape* past_key);

}  // namespace gcg
