// Makes attention operators append to caches that are states.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Attribute of a GroupQueryAttention whose caches hold exactly the tokens of earlier runs. Such a node appends to
/// them.
inline constexpr const char* kAppendsAttribute = "gart.appends";

/// Decides how each com.microsoft.GroupQueryAttention whose past and present are states keeps them. A cache with
/// `sliding_window_cache` keeps a window: its extent becomes local_window_size, unless it is fixed. All other caches
/// grow, and the node is marked; a cache whose extent is fixed (a buffer that past and present share) becomes one that
/// grows up to this extent. `window` > 0: all causal attention reads at most that many tokens, and the caches keep a
/// window. Requires: states are paired. Before: inference and expand-operators. Throws CompileError if the capacity of
/// such a state is above its buffer's, or if `window` changes nothing.
void append_caches(Graph& graph, int64_t window);

}  // namespace gcg
