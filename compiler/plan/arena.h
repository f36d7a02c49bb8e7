// Places temporaries in one arena.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcg {

/// A block must not share bytes with any block of `conflicts`. Conflicts are symmetric.
struct ArenaBlock {
  int64_t size = 0;            // bytes; a block of 0 bytes takes no space
  std::vector<int> conflicts;  // indices of other blocks
  int first = 0, last = 0;     // steps that define it and last use it, in plan order
};

struct ArenaLayout {
  std::vector<int64_t> offsets;  // per block, multiples of `alignment`
  int64_t bytes = 0;             // size of the whole arena
  int64_t lower_bound = 0;       // maximum over steps of the aligned sizes of live blocks
};

/// The best of several greedy orders, plus local improvement. Reaches the lower bound on nearly all graphs.
/// Deterministic.
ArenaLayout plan_arena(const std::vector<ArenaBlock>& blocks, int64_t alignment = 64);

/// Throws InternalError if two conflicting blocks overlap.
void verify_arena(const std::vector<ArenaBlock>& blocks, const ArenaLayout& layout);

}  // namespace gcg
