// The parameters of a LinearAttention node.
#pragma once

#include "compiler/ops/op_def.h"

namespace gcg {

/// Each head of keys and values has a state S [key size, value size], which every step updates:
///   S = exp(decay) * S, if it decays;  v = beta * (v - k S), if it corrects;  S = S + k^T v;  output = scale * q S
struct LinearAttentionParams {
  enum : int { kQuery, kKey, kValue, kPast, kDecay, kBeta };
  bool decays, corrects;
  int64_t query_heads, heads;  // heads of the query; heads of keys and values
  double scale;                // 0: 1 / sqrt(key size)

  /// Fails, naming the node, on inconsistent attributes or inputs.
  explicit LinearAttentionParams(const Node& node);
};

}  // namespace gcg
