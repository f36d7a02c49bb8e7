#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// What --precision fp16 or bf16 has made of a CPU's plan (narrow_weights): how many bytes of weights are stored in how
/// many.
std::vector<std::string> narrow_weights_remarks(const Graph& graph);

}  // namespace gcg
