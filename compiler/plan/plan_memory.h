// Memory planning: places a plan's temporaries.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/plan/plan.h"

namespace gcg {

/// Computes lifetimes, in-place results and placement; fills Buffer::block and Plan::memory. `memory_limit`: bytes of a
/// static arena; if exceeded, throws CompileError naming the three largest live sets.
/// Requires: steps, streams and waits are final.
void plan_memory(Plan& plan, std::optional<int64_t> memory_limit);

}  // namespace gcg
