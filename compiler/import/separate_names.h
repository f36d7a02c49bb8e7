// Gives dimensions of inputs that share a name different symbols, if the model does not need them to be equal.
#pragma once

#include <map>
#include <string>

#include "compiler/ir/graph.h"

namespace gcg {

/// Exporters also give equal names to dimensions that differ, and ONNX does not require equal names to mean equal
/// extents. Dimensions keep a common name only where the model computes with equal extents. Two kinds of dimensions get
/// symbols of their own:
/// * Dimensions of an input that only branches of Ifs read. Each branch that reads it checks that they equal the other
///   dimensions of the same name. For example, the first step of a decoder has an empty past.
/// * Dimensions that no operator requires to be equal. If four or more inputs are declared alike, they share a symbol.
/// Therefore the layers of a decoder, each with its caches, share kernels. Requires: types are inferred. Ensures: types
/// are inferred. Returns the name in the model for each new symbol.
std::map<std::string, std::string> separate_names(Graph& graph);

}  // namespace gcg
