// What a FlexAttention node says: softmax(change(scale * Q K^T)) V, with changes that bodies of the node make.
#pragma once

#include "compiler/ops/op_def.h"

namespace gcg {

struct FlexAttentionForm {
  int scores = -1, probabilities = -1;  // the bodies that change them; -1: none does
  DType dtype;                          // of scores and probabilities
  double scale = 0;                     // 0: one over the root of the head size

  FlexAttentionForm(const Node& node, DType query);
};

}  // namespace gcg
