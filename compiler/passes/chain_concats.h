// Pass: chain_concats (CPU pass).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// A Concat that begins with all that an earlier one joins begins with its result instead, as in dense blocks, whose
/// every layer joins the results of all before it: one part is copied where each was, and the new one can be stored in
/// place.
///
/// Requires: types inferred; after channels are blocked, which looks at the parts.
/// Example: Concat(a, b), Concat(a, b, c) -> ab = Concat(a, b), Concat(ab, c)
bool chain_concats(Graph& graph);

}  // namespace gcg
