// Pass: fold-constants.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Computes values that depend only on constants at compile time, with the operators' reference implementations.
/// Requires: an inferred graph.
/// Ensures: a value whose elements inference knows is a constant. Every output of a node with constant inputs is a
///   constant. Exceptions are outputs that would make the artifact much larger (an Expand of a scalar to megabytes).
/// Before: canonicalize's rules about constants; eliminate-dead-code, which removes inputs that are no longer read.
/// Examples: Add({1}, {2}) -> {3};  Shape(x[2,3]) -> {2,3};  Shape(x[n,3]) stays
/// `keep_quantized`: DequantizeLinear of a constant stays, for passes that compute with the quantised values.
bool fold_constants(Graph& graph, bool keep_quantized = false);

}  // namespace gcg
