// Dimensions of inputs that have one name, although the model does not need them to be equal.
#pragma once

#include <map>
#include <string>

#include "compiler/ir/graph.h"

namespace gcg {

/// Exporters name dimensions carelessly. ONNX gives the names no force, so this keeps a name common only where the
/// model computes with equal extents.
///   An input that only branches of Ifs read: its dimensions get symbols of their own, and each branch that reads it
///     checks that they are equal to the others of their name. The first step of a decoder has an empty past, for
///     example.
///   Dimensions that never meet: each gets its own symbol. Those of four or more inputs that are declared alike keep a
///     common one, so that the layers of a decoder, with caches each, share kernels.
/// Requires: types are inferred. Ensures: types are inferred.
/// Returns the name in the model for each new symbol.
std::map<std::string, std::string> separate_names(Graph& graph);

}  // namespace gcg
