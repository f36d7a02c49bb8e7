// All hardware numbers that the compiler uses: one row for each compute capability of GPUs and each level of CPUs. Cost
// models, streams, tiles, libraries and messages read them here. Measured costs of one kernel form (clocks of a step,
// operations of a task) stand beside that form.
#pragma once

#include <algorithm>
#include <cstdint>

#include "compiler/kernel/target.h"

namespace gcg {

/// Defaults for GPUs that were not measured, in microseconds.
inline constexpr double kDependentLaunch = 1.5;  // from a kernel's end to the first work of a dependent one
inline constexpr double kMemoryLatency = 0.7;    // latency of a read from a GPU's memory

/// Cost of a branch that a GPU decides, in microseconds. Measured on an H200: ten branches took 205 us.
inline constexpr double kConditionalNode = 20;

/// Costs of the nodes of a CUDA graph, in microseconds.
struct NodeCosts {
  double shortest = kDependentLaunch + 0.5;  // an almost empty kernel in a chain
  double block_start = 0;                    // added for each block of the kernel
  double overlapped = 0.6;                   // time that a programmatic edge saves
  // The most blocks per processor for which a programmatic edge saves time; with more blocks it costs time.
  double overlapping = 1e9;
  double fork = 3;  // cost of one more stream that forks and joins
};

/// The device that represents all devices of a target. A "processor" is a streaming multiprocessor of a GPU or a core
/// of a CPU.
struct Machine {
  const char* name;
  int processors = 1;
  double gigahertz = 3;
  double scalar_rate = 16;         // f32 multiply-adds per clock of one processor
  double bytes_per_second = 20e9;  // memory bandwidth

  // GPUs: multiply-adds per clock of one processor on its tensor cores, with f16 factors and f32 sums. The rate for
  // tf32 is half.
  double half_rate = 0;            // mma.sync
  double warpgroup_rate = 0;       // wgmma
  double l2_bytes_per_clock = 56;  // bytes per clock from the L2 cache to each processor, if all of them read
  double l2_alone = 60;            // the same if few of them read
  int64_t shared_bytes = 0;        // shared memory per processor; one block gets at most `shared_block_bytes`
  int64_t shared_block_bytes = 0;
  int threads = 0;                 // resident threads per processor
  bool has_async_copies = false;   // has cp.async, and tf32 on tensor cores
  bool overlaps_launches = false;  // griddepcontrol: a launch may start before its predecessor has ended
  // The GPU shares memory with the CPU, which needs most of it. Library calls are not used, because libraries do not
  // fit into the rest.
  bool shares_memory = false;
  NodeCosts nodes;
  double memory_latency = kMemoryLatency, l2_latency = 0.5;  // per read, in microseconds

  // CPUs:
  int vector_bytes = 0;
  int vector_registers = 0;
  int64_t l2_bytes = 0;  // the smallest L2 cache among the CPUs of the level
  /// Size of the weights that stay in the last-level cache from run to run if nothing else runs. Current server CPUs
  /// give their cores at least 32 MB.
  int64_t near_bytes = 24 << 20;

  double flops_per_second() const { return 2e9 * scalar_rate * gigahertz * processors; }
  double resident_threads() const { return double{1} * processors * threads; }
  /// Bytes per clock from the L2 cache to each of `busy` processors.
  double l2_share(double busy) const {
    return std::min(l2_alone, l2_bytes_per_clock * processors / std::clamp<double>(busy, 1, processors));
  }
};

/// Constants of all GPUs.
inline constexpr int kWarpThreads = 32;
inline constexpr int kMostBlockThreads = 1024;
inline constexpr int64_t kReservedShared = 1024;     // bytes of shared memory per block that CUDA reserves for itself
inline constexpr int kProcessorRegisters = 65536;    // 32-bit registers
inline constexpr double kTypicalResidentBlocks = 2;  // per processor

/// Defaults for all CPUs: the cache line, a typical L2 size, and (kCacheSpeed) the cache-to-memory bandwidth ratio.
inline constexpr int64_t kCacheLine = 64;
inline constexpr int64_t kCommonL2 = 512 << 10;
/// The L2 size that is assumed in the test whether a small feature map stays in the L2. A map that is a little larger
/// still stays there for most groups.
inline constexpr int64_t kL2OfSmallMaps = 1 << 20;
inline constexpr double kCacheSpeed = 4;

/// Copies between a GPU and its host: microseconds per copy, and bytes per microsecond.
inline constexpr double kHostCopy = 5, kHostBytes = 2e4;

/// Synchronisation of CPU threads, in microseconds: waking and joining spinning threads; handover from one thread's
/// step to a waiting thread's; a barrier of all threads.
inline constexpr double kThreadFork = 0.7, kThreadHandover = 0.25, kThreadBarrier = 0.3;
/// Waking a sleeping pool, in microseconds (measured on virtual machines).
inline constexpr double kPoolWakes = 25;

/// The row of the target's level. A GPU without a row gets the nearest older one. PTX gets a row that assumes only
/// features and sizes that all GPUs running it have.
const Machine& machine_of(const Target& target);

/// The GPU that cost models assume for a plan that serves several kinds of GPUs: a mid-range one.
const Machine& typical_gpu();

}  // namespace gcg
