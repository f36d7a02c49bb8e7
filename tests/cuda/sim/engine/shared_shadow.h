// Finds races on a block's shared memory: for every byte, its last write and the reads since then. Two accesses of
// different threads, one of them a write, race unless one of two conditions holds: the later thread's warp knows of the
// earlier access (clocks.h), or both threads are in one warp whose lanes have waited for each other in between.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_SHARED_SHADOW_H
#define GART_TESTS_CUDA_SIM_ENGINE_SHARED_SHADOW_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda/sim/engine/clocks.h"
#include "tests/cuda/sim/shim/module_abi.h"

namespace gart_sim {

class SharedShadow {
 public:
  // Resets all bytes to untouched.
  void reset(size_t bytes);
  // Forgets the accesses to these bytes: all of them are over, and the next access comes after them.
  void forget(size_t offset, size_t bytes);

  struct Race {
    bool found = false;
    unsigned other_warp = 0, other_lane = 0;
    bool other_wrote = false;
    bool is_lane_known = true;
  };
  // Records that lane `lane` of a warp of the cluster touches these bytes. Returns the race, if any.
  Race touch(size_t offset, size_t bytes, unsigned warp, unsigned lane, Access access, const WarpClocks& clocks);
  // Finds an access to these bytes that may not be over, as far as the warp knows.
  [[nodiscard]] Race unordered(size_t offset, size_t bytes, unsigned warp, const WarpClocks& clocks) const;

 private:
  static constexpr uint8_t kManyLanes = 0xff;
  // The last access of a warp to a byte.
  struct Mark {
    uint32_t time = 0, round = 0;  // 0: none
    uint16_t warp = 0;
    uint8_t lane = 0;
    bool is_atomic = false;
  };
  struct Cell {
    Mark write, read;
    uint32_t readers =
        0;  // index + 1 in readers_, which holds the marks of several warps that have read; 0: `read` is the only one
    uint32_t generation = 0;  // differs from the shadow's generation: the cell is untouched
  };
  static bool is_ordered(const Mark& mark, unsigned warp, unsigned lane, const WarpClocks& clocks);
  static Race race_with(const Mark& mark, bool wrote);
  void note_read(Cell& cell, unsigned warp, unsigned lane, const WarpClocks& clocks);
  // A read of `cell` that is not ordered before this access; null: there is none.
  [[nodiscard]] const Mark* unordered_read(const Cell& cell, unsigned warp, unsigned lane,
                                           const WarpClocks& clocks) const;
  void forget_reads(Cell& cell);
  Cell& cell(size_t i);

  uint32_t generation_ = 0;
  std::vector<Cell> cells_;
  std::vector<std::vector<Mark>> readers_;
  std::vector<uint32_t> unused_;  // indices in readers_
};

}  // namespace gart_sim
#endif
