// Pass: fold-constants.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Computes at compile time what depends on constants only, with the operators' reference implementations.
/// Requires: an inferred graph.
/// Ensures: a value whose elements inference knows as numbers is a constant; so is every output of a node whose inputs
///   are constants, unless it would make the artifact much larger (an Expand of a scalar to megabytes).
/// Before: canonicalize's rules about constants; after it: eliminate-dead-code, for the inputs nobody reads any more.
/// Examples: Add({1}, {2}) -> {3};  Shape(x[2,3]) -> {2,3};  Shape(x[n,3]) stays
/// `keep_quantized`: DequantizeLinear of a constant stays, for passes that compute with the quantised values.
bool fold_constants(Graph& graph, bool keep_quantized = false);

}  // namespace gcg
