// Placing temporaries in one arena.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcg {

/// A block that must not share bytes with any block of `conflicts` (symmetric: if b conflicts with a, a conflicts with
/// b).
struct ArenaBlock {
  int64_t size = 0;            // bytes; 0 takes no room
  std::vector<int> conflicts;  // indices of other blocks
  int first = 0, last = 0;     // steps of definition and of last use, in the order of the plan
};

struct ArenaLayout {
  std::vector<int64_t> offsets;  // per block, multiples of `alignment`
  int64_t bytes = 0;             // of the whole arena
  int64_t lower_bound = 0;       // max over steps of the live (aligned) sizes
};

/// Best of several greedy orders plus local improvement; reaches the lower bound on nearly all graphs. Deterministic.
ArenaLayout plan_arena(const std::vector<ArenaBlock>& blocks, int64_t alignment = 64);

/// Throws InternalError if two conflicting blocks overlap.
void verify_arena(const std::vector<ArenaBlock>& blocks, const ArenaLayout& layout);

}  // namespace gcg
