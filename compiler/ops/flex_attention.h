// The parameters of a FlexAttention node: softmax(change(scale * Q K^T)) V, where subgraphs of the node make the
// changes.
#pragma once

#include "compiler/ops/op_def.h"

namespace gcg {

struct FlexAttentionParams {
  // Numbers of the subgraphs that change the scores and the probabilities; -1: none.
  int scores = -1, probabilities = -1;
  DType dtype;       // type of the scores and the probabilities
  double scale = 0;  // 0: 1 / sqrt(head size)

  FlexAttentionParams(const Node& node, DType query);
};

}  // namespace gcg
