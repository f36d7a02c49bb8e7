// A function of libraries as a graph of its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// One call of the function (NAME, or DOMAIN::NAME) on inputs of these types: its nodes, those of functions that it
/// calls among them. Throws CompileError: for a name that no library has (with the nearest ones) or that two have,
/// other numbers of inputs than it takes, and what its operators say of the types.
Graph call_function(const std::string& name, const std::vector<std::pair<DType, std::vector<int64_t>>>& inputs,
                    const std::vector<std::string>& libraries);

}  // namespace gcg
