// Operators that compute different results in training and in inference.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Makes the Dropout nodes of the graph and of its subgraphs drop elements at random. Returns the names of all nodes
/// that drop elements.
std::vector<std::string> start_dropout(Graph& graph);

/// Makes all Dropout nodes keep all elements.
void stop_dropout(Graph& graph);

/// Makes BatchNormalization nodes in training mode use their running statistics, if these are in `statistics`. Other
/// such nodes keep the statistics of the batch, because the model means them (weight standardization).
void use_running_statistics(Graph& graph, const std::set<ValueId>& statistics);

/// The name of a node that computes statistics of its batch, in the graph or in a subgraph; null if there is none.
/// Requires: operators are not expanded.
const std::string* batch_statistics_of(const Graph& graph);

}  // namespace gcg
