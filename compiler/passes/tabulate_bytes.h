// Pass: tabulate_bytes (CPU pass).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// A chain of pointwise operators from one byte to another, such as DequantizeLinear, Sigmoid and QuantizeLinear, has
/// 256 results: a table of them takes the place of a chain with an elementary function.
///
/// Requires: types inferred; constants are folded; channels blocked, which knows the operators themselves.
/// Example: QuantizeLinear(Sigmoid(DequantizeLinear(x, s, z)), t, u) -> gart.LookUp(table, x)
bool tabulate_bytes(Graph& graph);

}  // namespace gcg
