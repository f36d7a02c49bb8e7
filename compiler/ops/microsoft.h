// The contributed operators of onnxruntime (domain com.microsoft). Its optimiser, its quantiser and exporters write
// them. Each one expands into ONNX operators; onnxruntime's ContribOperators.md defines them.
#pragma once

#include "compiler/ops/expansion.h"

namespace gcg {

/// An operator of the domain from version 1 on.
constexpr ExpandedOp microsoft(const char* name, int min_inputs, int max_inputs, DeclaredTypes types, Expand expand,
                               int max_outputs = 1) {
  return expanded(name, "com.microsoft", 1, min_inputs, max_inputs, types, expand, max_outputs);
}

/// The common form of Attention, QAttention and MultiHeadAttention, with 4-D queries, keys and values: [B, heads,
/// sequence, size].
struct MicrosoftAttention {
  ValueId q, k, v;
  ValueId past_key, past_value;  // 4-D; invalid: none
  ValueId padding;               // keys that are not padding, 1-D to 3-D; invalid: all keys count
  int64_t padding_rank = 0;
  bool padding_has_starts = false;  // 1-D: the end of each sample's keys, then the start of each sample's keys
  ValueId bias;                     // added to the scores; invalid: none
  bool causal = false;
};
struct MicrosoftAttended {
  ValueId output;                      // [B, queries, heads * size]
  ValueId present_key, present_value;  // keys and values, including the past ones
  ValueId scores;                      // before the softmax
};
MicrosoftAttended microsoft_attention(Expansion& x, const MicrosoftAttention& a);

/// Converts [B, sequence, heads * size] to [B, heads, sequence, size], and back.
ValueId heads_first(Expansion& b, ValueId x, int64_t heads);
ValueId heads_last(Expansion& b, ValueId x);
/// Rotates `of` [B, heads, sequence, size] by the angles of the positions `places` [B, sequence]. Without places, the
/// angles are given per token. `partial`: the number of leading elements of a head that are rotated; 0: all.
ValueId rotated(Expansion& x, ValueId of, ValueId places, ValueId cosines, ValueId sines, bool interleaved,
                int64_t partial);
/// The `partial` for which the table of angles, input `cosines`, is made.
int64_t rotary_part(Expansion& x, size_t cosines, const Dim& head);
/// 0, 1, ..., count - 1.
ValueId positions(NodeBuilder& b, ValueId count);

}  // namespace gcg
