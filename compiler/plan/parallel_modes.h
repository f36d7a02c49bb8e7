// How threads share the steps of a CPU plan: all threads share the tasks of a step (intra), or each thread runs a
// stream of steps (inter).
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// The reason for the way in which threads share a plan. The rules are for training steps, of which several may run at
/// once on different samples, as replicas.
enum class ModeRule : uint8_t {
  costs,                 // the cheapest mode, as the thread model predicts it
  asynchronous,          // replicas: each run has one thread, and as many runs go on as there are threads
  batch_statistics,      // inter and intra: a run has all threads, because the step needs its whole batch in one place
  synchronous,           // inter and replicas: threads take streams of steps, and no step is shared
  exchanged_statistics,  // the same, because replicas exchange the statistics of their batches
};
/// The rule's word in ParallelMode::reason; empty for costs.
const char* word_of(ModeRule rule);
/// True if the rule is for replicas that run together, each with threads of its own.
inline bool is_synchronous(ModeRule rule) {
  return rule == ModeRule::synchronous || rule == ModeRule::exchanged_statistics;
}

/// Fills Plan::modes, one mode for each of several thread counts. Assigns streams to the steps of the entry sequence if
/// a mode runs steps in parallel. The steps of a stream run on the same thread in every mode.
/// Each mode is the cheapest one in a model of the runtime's threads. The model takes the costs of steps from the
/// plan's machine, and the costs of synchronisation from machine.h. If more threads gain nothing, a run gets one
/// thread; as many runs as there are threads can then go on at the same time.
///
/// A rule other than `costs` limits the choice to its kinds of modes.
///
/// Streams may need a larger arena, because their temporaries do not share memory. There are no streams if the arena
/// exceeds `memory_limit`, or exceeds both kSmallArena and kMostArenaGrowth times the arena of a single stream.
/// Requires: code is selected, memory is not planned yet.
void choose_parallel_modes(Plan& plan, std::optional<int64_t> memory_limit, ModeRule rule = ModeRule::costs);

inline constexpr double kMostArenaGrowth = 1.5;
inline constexpr int64_t kSmallArena = 4 << 20;

/// In ParallelMode::stream_threads.
inline constexpr uint8_t kAllThreads = 255;

}  // namespace gcg
