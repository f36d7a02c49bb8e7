// The contributed operators of onnxruntime (domain com.microsoft): its optimiser, its quantiser and exporters for it
// write them. Each is an expansion into operators of ONNX; onnxruntime's ContribOperators.md says what they mean.
#pragma once

#include "compiler/ops/expansion.h"

namespace gcg {

/// From version 1 of the domain on.
constexpr ExpandedOp microsoft(const char* name, int min_inputs, int max_inputs, DeclaredTypes types, Expand expand,
                               int max_outputs = 1) {
  return expanded(name, "com.microsoft", 1, min_inputs, max_inputs, types, expand, max_outputs);
}

/// What Attention, QAttention and MultiHeadAttention share once queries, keys and values are 4-D: [B, heads, sequence,
/// size].
struct MicrosoftAttention {
  ValueId q, k, v;
  ValueId past_key, past_value;  // 4-D, too; invalid: none
  ValueId padding;               // which keys count, 1-D to 3-D; invalid: all
  int64_t padding_rank = 0;
  bool padding_has_starts = false;  // 1-D: ends of all samples, then starts of all
  ValueId bias;                     // added to the scores; invalid: none
  bool causal = false;
};
struct MicrosoftAttended {
  ValueId output;                      // [B, queries, heads * size]
  ValueId present_key, present_value;  // with the past ones
  ValueId scores;                      // before the softmax
};
MicrosoftAttended microsoft_attention(Expansion& x, const MicrosoftAttention& a);

/// [B, sequence, heads * size] as [B, heads, sequence, size], and back.
ValueId heads_first(Expansion& b, ValueId x, int64_t heads);
ValueId heads_last(Expansion& b, ValueId x);
/// 0, 1, ..., count - 1.
ValueId positions(NodeBuilder& b, ValueId count);

}  // namespace gcg
