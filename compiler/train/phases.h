// A training step whose replicas exchange sums while it runs.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Inputs and outputs of phases. kPartial.N is a replica's own share of the N-th exchanged value. kExchanged.N has the
/// shares of all replicas, along a new first axis.
inline constexpr const char *kPartial = "partial", *kExchanged = "exchange";

/// Splits the step at its nodes gart.Exchange. Phase p has the nodes that need p exchanges before them; the phases of
/// all replicas run in this order. A phase reads values of earlier phases as inputs of the same name. It adds the
/// shares of an exchanged value itself, in the order of the replicas, so all replicas get the same bits. Each phase has
/// those inputs of the step that it reads. A step without exchanges is one phase. Requires: values have types; no
/// subgraph exchanges.
std::vector<Graph> split_at_exchanges(const Graph& step);

/// For a step that runs alone: each exchanged value is the replica's own.
void drop_exchanges(Graph& step);

}  // namespace gcg
