// Attention written as plain operators: MatMul(Softmax(scores of MatMul(Q, K)), V).
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

struct Attention {
  NodeId scores;             // MatMul(Q, K)
  NodeId softmax;            // along the keys
  NodeId kept;               // Where(some, P, 0), `some` the same for all keys of a query; or none
  bool is_nan_zero = false;  // Where(IsNaN(P), 0, P): queries without a key get zeros
  std::set<NodeId> nodes;    // all between Q, K and the last product, which nothing else reads
};

/// What `product`, a MatMul, is the end of; nullopt if that is no f32 attention with known head sizes of at most 128.
/// Scores may be changed by pointwise operators and reshaped, as long as the order of elements and the keys' dimension
/// stay. `users`: graph.users().
std::optional<Attention> find_attention(const Graph& graph, NodeId product,
                                        const std::vector<std::vector<NodeId>>& users);

}  // namespace gcg
