// Makes a graph from one function of the libraries.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// A graph that calls the function (NAME, or DOMAIN::NAME) on inputs of these types. It holds the function's nodes,
/// with nested calls inlined. Throws CompileError for a name that no library has (with the nearest ones) or that two
/// have. It also throws for a wrong number of inputs, and for types that the function's operators refuse.
Graph call_function(const std::string& name, const std::vector<std::pair<DType, std::vector<int64_t>>>& inputs,
                    const std::vector<std::string>& libraries);

}  // namespace gcg
