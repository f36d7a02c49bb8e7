// States that a graph only reads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/ir/graph.h"

namespace gcg {

/// Used for State::output if a run only reads the state, so the graph has no output for it.
inline constexpr size_t kNotWritten = SIZE_MAX;

inline bool is_written(const State& state) { return state.output != kNotWritten; }

/// The graph's output that is the state's new value; invalid if a run only reads the state.
inline ValueId new_value(const Graph& graph, const State& state) {
  return is_written(state) ? graph.outputs[state.output] : ValueId();
}

}  // namespace gcg
