// The float types of the source nodes, beside those of the kernels' arithmetic (CompiledKernel::types).
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/plan/plan.h"

namespace gcg {

/// By node of any of the graphs: the widest float type of its inputs and outputs, also within subgraphs. Nodes without
/// floats are absent.
std::map<std::string, DType> float_types_of(const Graph& graph, std::span<const Graph> more);

/// Adds the types of the source nodes to those of all kernels.
void add_model_types(std::vector<Plan>& plans, const std::map<std::string, DType>& types);

}  // namespace gcg
