// The parameters of a FlexAttention node: softmax(change(scale * Q K^T)) V, where subgraphs of the node make the
// changes.
#pragma once

#include "compiler/ops/op_def.h"

namespace gcg {

struct FlexAttentionParams {
  int scores = -1, probabilities = -1;  // the subgraphs that change them; -1: none
  DType dtype;                          // of scores and probabilities
  double scale = 0;                     // 0: one over the root of the head size

  FlexAttentionParams(const Node& node, DType query);
};

}  // namespace gcg
