// Pass: chain_concats (CPU pass).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// If a Concat begins with all operands of an earlier Concat, it reads the result of the earlier Concat instead. In
/// dense blocks each layer joins the results of all layers before it. Then only the earlier result is copied, instead
/// of each part, and the new part can be written in place.
///
/// Requires: types are inferred; channels are blocked, since block_channels looks at the parts.
/// Ensures: no Concat begins with all operands of an earlier Concat.
/// Example: Concat(a, b), Concat(a, b, c) -> ab = Concat(a, b), Concat(ab, c)
bool chain_concats(Graph& graph);

}  // namespace gcg
