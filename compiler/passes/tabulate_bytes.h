// Pass: tabulate_bytes (CPU pass).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Replaces a chain of pointwise operators from one byte to another, such as DequantizeLinear, Sigmoid and
/// QuantizeLinear, by a table of its 256 results. The chain must have an elementary function.
///
/// Requires: types are inferred; constants are folded; channels are blocked, since block_channels looks at the
///   operators.
/// Ensures: a chain that changed is one gart.LookUp. Its table has the bits that the chain gives.
/// Example: QuantizeLinear(Sigmoid(DequantizeLinear(x, s, z)), t, u) -> gart.LookUp(table, x)
bool tabulate_bytes(Graph& graph);

}  // namespace gcg
