// Attention written as plain operators: MatMul(Softmax(scores of MatMul(Q, K)), V).
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

struct AttentionPattern {
  NodeId product;            // MatMul(Q, K)
  std::set<NodeId> change;   // what makes the softmax's input of the product
  ValueId scores;            // the softmax's input; the product's result where nothing changes it
  ValueId kept;              // of Where(kept, P, 0), the same for all keys of a query; or none
  bool nan_to_zero = false;  // Where(IsNaN(P), 0, P): queries without a key get zeros
  std::set<NodeId> nodes;    // all before the last product, `product` and `change` too, which nothing else reads
};

/// What `last`, a MatMul, is the end of; nullopt if that is no f32 attention with known head sizes of at most
/// `largest_head` (0: with any). Scores may be changed by pointwise operators and reshaped, as long as the order of
/// elements and the keys' dimension stay. `users`: graph.users().
std::optional<AttentionPattern> find_attention(const Graph& graph, NodeId last,
                                               const std::vector<std::vector<NodeId>>& users, int64_t largest_head);

}  // namespace gcg
