// Finds races on a block's shared memory: for every byte, its last write and the reads since. Two accesses of
// different threads, one a write, race unless the later thread's warp knows of the earlier access (clocks.h), or both
// are of one warp whose lanes have waited for each other between.
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
  // Nothing is touched yet.
  void reset(size_t bytes);
  // All accesses to these bytes are over, and the next one comes after them.
  void forget(size_t offset, size_t bytes);

  struct Race {
    bool found = false;
    unsigned other_warp = 0, other_lane = 0;
    bool other_wrote = false;
    bool is_lane_known = true;
  };
  // Lane `lane` of a warp of the cluster touches these bytes.
  Race touch(size_t offset, size_t bytes, unsigned warp, unsigned lane, Access access, const WarpClocks& clocks);
  // An access to these bytes whose end the warp does not know of.
  [[nodiscard]] Race unordered(size_t offset, size_t bytes, unsigned warp, const WarpClocks& clocks) const;

 private:
  static constexpr uint8_t kManyLanes = 0xff;
  // A warp's last access to a byte.
  struct Mark {
    uint32_t time = 0, round = 0;  // 0: none.
    uint16_t warp = 0;
    uint8_t lane = 0;
    bool is_atomic = false;
  };
  struct Cell {
    Mark write, read;
    uint32_t readers = 0;     // Number in readers_ + 1 of the marks of several warps that have read; 0: `read` is all.
    uint32_t generation = 0;  // Another one than the shadow's: nothing is touched.
  };
  static bool is_ordered(const Mark& mark, unsigned warp, unsigned lane, const WarpClocks& clocks);
  static Race race_with(const Mark& mark, bool wrote);
  void note_read(Cell& cell, unsigned warp, unsigned lane, const WarpClocks& clocks);
  // A mark of `cell`'s reads that is not ordered; null: there is none.
  [[nodiscard]] const Mark* unordered_read(const Cell& cell, unsigned warp, unsigned lane,
                                           const WarpClocks& clocks) const;
  void forget_reads(Cell& cell);
  Cell& cell(size_t i);

  uint32_t generation_ = 0;
  std::vector<Cell> cells_;
  std::vector<std::vector<Mark>> readers_;
  std::vector<uint32_t> unused_;  // In readers_.
};

}  // namespace gart_sim
#endif
