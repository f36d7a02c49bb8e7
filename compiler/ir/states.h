// States that a graph only reads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/ir/graph.h"

namespace gcg {

/// In place of State::output: a run reads the state and leaves it as it is, so the graph has no output for it.
inline constexpr size_t kNotWritten = SIZE_MAX;

inline bool is_written(const State& state) { return state.output != kNotWritten; }

}  // namespace gcg
