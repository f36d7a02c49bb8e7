// Every number about hardware that the compiler goes by: one row for each compute capability of GPUs and each level of
// CPUs. Cost models, streams, tiles, libraries and messages read it here. What a form of kernel was measured to cost
// (clocks of a step, operations of a task) stands with that form.
#pragma once

#include <algorithm>
#include <cstdint>

#include "compiler/kernel/target.h"

namespace gcg {

/// Between the kernels of a GPU of which nothing was measured, in microseconds.
inline constexpr double kDependentLaunch = 1.5;  // from the end of one to the first work of the next that needs it
inline constexpr double kMemoryLatency = 0.7;    // of a read from a GPU's memory

/// What nodes of a GPU's graph cost, in microseconds.
struct Nodes {
  double shortest = kDependentLaunch + 0.5;  // a kernel that does next to nothing, after another
  double block_start = 0;                    // of each of its blocks
  double overlapped = 0.6;                   // what a programmatic edge saves...
  double overlapping = 1e9;  // ...after a launch of at most so many blocks per processor; after others it costs more
  double fork = 3;           // a further stream that forks and joins
};

/// The device that stands for all that a target runs on. Of a GPU a "processor" is a streaming multiprocessor, of a CPU
/// a core.
struct Machine {
  const char* name;
  int processors = 1;
  double gigahertz = 3;
  double scalar_rate = 16;         // f32 multiply-adds per clock of one processor
  double bytes_per_second = 20e9;  // of memory

  // GPUs: per clock of one processor, by tensor cores, f16 factors and f32 sums; tf32: half of it.
  double half_rate = 0;            // mma.sync
  double warpgroup_rate = 0;       // wgmma
  double l2_bytes_per_clock = 56;  // of one processor, from the L2 cache, while all read
  double l2_bytes_alone = 60;      // while hardly any other processor reads
  double l2_alone = 60;            // likewise, while few do
  int64_t shared_bytes = 0;        // of a processor; a block takes at most `shared_block_bytes`
  int64_t shared_block_bytes = 0;
  int threads = 0;                 // resident on a processor
  bool has_async_copies = false;   // cp.async, and tf32 on tensor cores
  bool overlaps_launches = false;  // griddepcontrol: a launch may start before the one before it has ended
  bool shares_memory = false;      // with the CPU, which needs most of it: no room for libraries
  Nodes nodes;
  double memory_latency = kMemoryLatency, l2_latency = 0.5;  // microseconds of a read

  // CPUs:
  int vector_bytes = 0;
  int vector_registers = 0;
  int64_t l2_bytes = 0;  // that every CPU of the level has
  /// Weights of a model that stay in the last cache from run to run, where nothing else runs; 32 MB is what one of
  /// today's server parts gives its cores at least.
  int64_t near_bytes = 24 << 20;

  double flops_per_second() const { return 2e9 * scalar_rate * gigahertz * processors; }
  double resident_threads() const { return double{1} * processors * threads; }
  /// Bytes per clock that each of so many processors gets from the L2 cache.
  double l2_share(double busy) const {
    return std::min(l2_alone, l2_bytes_per_clock * processors / std::clamp<double>(busy, 1, processors));
  }
};

/// Of every GPU.
inline constexpr int kWarpThreads = 32;
inline constexpr int kMostBlockThreads = 1024;
inline constexpr int64_t kReservedShared = 1024;     // bytes of each block's shared memory that the system takes
inline constexpr int kProcessorRegisters = 65536;    // of 32 bits
inline constexpr double kTypicalResidentBlocks = 2;  // of a processor

/// Of every CPU: a line of its caches, the L2 that all but old ones have, and how much faster than memory a cache is.
inline constexpr int64_t kCacheLine = 64;
inline constexpr int64_t kCommonL2 = 512 << 10;
/// What an L2 is taken for that is to hold a small map: it stays there for most groups where it is a little too large.
inline constexpr int64_t kL2OfSmallMaps = 1 << 20;
inline constexpr double kCacheSpeed = 4;

/// Between a GPU and its host: a copy, and its bytes per microsecond.
inline constexpr double kHostCopy = 5, kHostBytes = 2e4;

/// Between threads of a CPU, in microseconds: waking those that spin and joining them; from one's step to another's
/// that waits for it; all waiting for all.
inline constexpr double kThreadFork = 0.7, kThreadHandover = 0.25, kThreadBarrier = 0.3;
/// Waking a pool that sleeps (measured on virtual machines), in microseconds.
inline constexpr double kPoolWakes = 25;

/// The row of the target's level: of a GPU that has none the nearest below it; of PTX one that has no more than all
/// GPUs that run it.
const Machine& machine_of(const Target& target);

/// Plans for several GPUs at once are made for one in their midst.
const Machine& typical_gpu();

}  // namespace gcg
