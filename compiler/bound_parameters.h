// Inputs that the caller makes constant.
#pragma once

#include <map>
#include <string>

#include "compiler/ir/graph.h"

namespace gcg {

/// Turns the inputs with these names into constants. Inputs that are states come last, so their positions move down.
void bind_parameters(Graph& graph, const std::map<std::string, TensorRef>& parameters);

}  // namespace gcg
