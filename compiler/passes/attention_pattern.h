// Attention written as plain operators: MatMul(Softmax(scores of MatMul(Q, K)), V).
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

struct AttentionPattern {
  NodeId product;            // MatMul(Q, K)
  std::set<NodeId> change;   // nodes from the product to the softmax's input
  ValueId scores;            // the softmax's input; equals the product's result if `change` is empty
  ValueId row_mask;          // condition of Where(kept, P, 0), the same for all keys of a query; or none
  bool nan_to_zero = false;  // Where(IsNaN(P), 0, P): queries without a key get zeros
  // All nodes before the last product, with `product` and `change`; nothing else reads their results.
  std::set<NodeId> nodes;
};

/// The attention that ends in `last`, a MatMul. Nullopt unless it is f32 attention with known head sizes of at most
/// `largest_head` (0: any size). Pointwise operators and reshapes may change the scores if the order of elements and
/// the keys' dimension stay the same. `users`: graph.users().
std::optional<AttentionPattern> find_attention(const Graph& graph, NodeId last,
                                               const std::vector<std::vector<NodeId>>& users, int64_t largest_head);

}  // namespace gcg
