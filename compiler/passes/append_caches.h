// Makes attention operators append to caches that are states.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Attribute of a GroupQueryAttention whose caches hold exactly the tokens of earlier runs. Such a node appends to
/// them.
inline constexpr const char* kAppendsAttribute = "gart.appends";

/// Marks each com.microsoft.GroupQueryAttention whose past and present are states. A cache whose extent is fixed (a
/// buffer that past and present share) becomes one that grows up to this extent. Requires: states are paired. Before:
/// inference and expand-operators. Throws CompileError if the capacity of such a state is above its buffer's.
void append_caches(Graph& graph);

}  // namespace gcg
