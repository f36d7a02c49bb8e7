// What a LinearAttention node says.
#pragma once

#include "compiler/ops/op_def.h"

namespace gcg {

/// A state S [key size, value size] per head of keys and values, from step to step:
///   S = exp(decay) * S, if it decays;  v = beta * (v - k S), if it corrects;  S = S + k^T v;  output = scale * q S
struct LinearAttentionForm {
  enum : int { kQuery, kKey, kValue, kPast, kDecay, kBeta };
  bool decays, corrects;
  int64_t query_heads, heads;  // of the query; of keys and values
  double scale;                // 0: one over the root of the key size

  /// Fails, naming the node, on attributes or inputs that do not go together.
  explicit LinearAttentionForm(const Node& node);
};

}  // namespace gcg
