// How threads share the steps of a CPU's plan: all of them a step's tasks (intra), or each a stream of steps (inter).
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Fills Plan::modes, one for each of some numbers of threads, and gives steps of the entry sequence streams where a
/// mode has them run beside others. A stream's steps are on the same thread in every mode. A mode is the cheapest by a
/// model of the runtime's threads: costs of steps by the plan's machine, of threads waiting for each other by
/// machine.h. Where threads gain nothing a run gets one, so that as many runs as there are threads take place beside
/// each other.
///
/// Streams may need a larger arena, since their temporaries do not share memory. Where that is more than
/// `memory_limit`, or than kSmallArena and kMostArenaGrowth times what one stream needs, there are none. Requires: code
/// is selected, memory is not planned yet.
void choose_parallel_modes(Plan& plan, std::optional<int64_t> memory_limit);

inline constexpr double kMostArenaGrowth = 1.5;
inline constexpr int64_t kSmallArena = 4 << 20;

/// In ParallelMode::stream_threads.
inline constexpr uint8_t kAllThreads = 255;

}  // namespace gcg
