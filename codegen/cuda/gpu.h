// What the cost models know about GPUs: one representative device per compute capability.
#pragma once

#include <cstdint>

#include "compiler/kernel/target.h"

namespace gcg::cuda {

struct Gpu {
  int sm;                    // compute capability * 10
  const char* name;
  int processors;            // streaming multiprocessors
  double gigahertz;
  double scalar_rate;        // f32 multiply-adds per clock of one multiprocessor
  double half_rate;          // f16 ones on its tensor cores (mma.sync), f32 sums; tf32: half of it; 0: no tf32
  double bytes_per_second;   // of device memory
  int64_t shared_bytes;      // of a multiprocessor; a block takes at most `shared_block_bytes`
  int64_t shared_block_bytes;
  int threads;               // resident on a multiprocessor
  double warpgroup_rate = 0; // as half_rate, by wgmma
};

/// The device that stands for the target's compute capability: the nearest one known below it. For PTX, one that has no more
/// than all GPUs that run it.
const Gpu& gpu_of(const Target& target);

}  // namespace gcg::cuda
