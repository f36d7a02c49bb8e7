// Finds races on a block's shared memory: for every byte, who wrote and read it since the last barrier. Two accesses of
// different threads, one a write, race unless a barrier of the block, or of both threads' warp, lies between.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_SHARED_SHADOW_H
#define GART_TESTS_CUDA_SIM_ENGINE_SHARED_SHADOW_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda/sim/shim/module_abi.h"

namespace gart_sim {

class SharedShadow {
 public:
  void resize(size_t bytes) {
    if (cells_.size() < bytes) cells_.resize(bytes);
  }
  // Everything before is ordered before everything after.
  void block_barrier() { ++phase_; }
  void warp_barrier(unsigned warp) { ++warp_phase_[warp]; }

  struct Race {
    bool found = false;
    unsigned other_thread = 0;
    bool other_wrote = false;
    bool is_other_known = true;
  };
  Race touch(size_t offset, size_t bytes, unsigned thread, Access access);

 private:
  static constexpr uint16_t kMany = 0xffff;
  struct Cell {
    uint32_t write_phase = 0, write_warp_phase = 0, read_phase = 0, read_warp_phase = 0;
    uint16_t writer = 0;
    uint16_t reader_warp = 0;  // kMany: several warps have read.
    uint16_t reader_lane = 0;  // kMany: several lanes of it have.
    bool is_atomic = false;    // The write was one.
  };
  bool write_races(const Cell& cell, unsigned thread) const;
  bool read_races(const Cell& cell, unsigned thread) const;
  void note_read(Cell& cell, unsigned thread) const;

  std::vector<Cell> cells_;
  uint32_t phase_ = 1;
  uint32_t warp_phase_[32] = {};
};

}  // namespace gart_sim
#endif
