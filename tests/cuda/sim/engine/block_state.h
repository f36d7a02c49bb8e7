// A cluster while it runs: its blocks with their shared memory, and their threads.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_BLOCK_STATE_H
#define GART_TESTS_CUDA_SIM_ENGINE_BLOCK_STATE_H

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/sim/engine/async_shadow.h"
#include "tests/cuda/sim/engine/clocks.h"
#include "tests/cuda/sim/engine/fiber.h"
#include "tests/cuda/sim/engine/shared_shadow.h"
#include "tests/cuda/sim/engine/tensor_map.h"
#include "tests/cuda/sim/shim/module_abi.h"

namespace gart_sim {

struct AsyncCopy {
  unsigned char* target;
  const unsigned char* source;
  unsigned bytes, source_bytes;
};

// A product of a warpgroup that a thread has not waited for.
struct WideProduct : WideCall {
  using Line = std::array<unsigned char, 32>;  // All depths of a row or column.
  std::array<Line, 2> rows = {};               // The thread's two rows of a left operand in registers.
  [[nodiscard]] uint32_t* values() const { return static_cast<uint32_t*>(sums); }
};
struct WideProducts {
  std::vector<WideProduct> products;  // Oldest first.
  std::vector<size_t> committed;      // As AsyncCopy's.
  size_t uncommitted = 0;
  bool is_fenced = false;
  std::vector<std::pair<uint32_t*, std::vector<uint32_t>>>
      values;  // Sums in flight, in whose places are signalling NaNs.
};

// A box of a tensor on its way from or to shared memory.
struct BoxCopy {
  TensorMap map;
  size_t target;  // In dynamic shared memory.
  std::array<int64_t, TensorMap::kMostDimensions> at;
  std::array<unsigned, TensorMap::kMostDimensions - 2> offsets = {};  // For images.
};
// Stores that a thread has not waited for.
struct BoxStores {
  std::vector<BoxCopy> stores;    // Oldest first.
  std::vector<size_t> committed;  // As AsyncCopy's.
  size_t uncommitted = 0;
};
// A barrier in shared memory. A phase ends when all arrivals and all announced bytes have come.
struct PhaseBarrier {
  unsigned arrivals = 0, pending = 0;  // A phase's; those still to come in this one.
  int64_t announced = 0, copied = 0;   // Bytes. Those of other blocks' copies may come before they are announced.
  unsigned phase = 0;
  std::vector<BoxCopy> copies;  // This phase's: they land at its end.
  Told arrived, over;           // For those who wait for this phase, and for the one before.
  Told made;                    // For those who may use it.
  unsigned maker = 0;           // A warp of the cluster.
};

// What a lane brings to a collective of its warp.
struct WarpRequest {
  enum class Kind { barrier, shuffle, vote, mma, ldmatrix, stmatrix, wgmma, wgmma_wait, registers, cluster };
  Kind kind;
  unsigned detail;  // Of the kind: which shuffle, vote or product, and its width; equal in all lanes.
  unsigned mask;
  Site site;
  void* inout;
  const void* a;
  const void* b;
  int lane;        // A shuffle's third argument.
  unsigned bytes;  // A shuffle's.
};
using Lanes = std::array<WarpRequest*, 32>;  // Null: the lane takes no part.

struct Block;
struct Thread {
  enum class State { fresh, ready, in_barrier, in_warp, in_phase, in_cluster, done };
  State state = State::fresh;
  Block* block = nullptr;
  unsigned index = 0;     // In the block.
  unsigned number = 0;    // In the cluster.
  unsigned warp = 0;      // In the cluster.
  Triple place{0, 0, 0};  // In the block.
  Fiber* fiber = nullptr;
  WarpRequest* request = nullptr;
  unsigned barrier_id = 0;
  int predicate = 0;  // What it brings to the barrier, then what the barrier gives back.
  Site site = {"", 0};
  bool has_waited = false;        // For the launches that its own overlaps.
  std::vector<AsyncCopy> copies;  // Not yet waited for, oldest first.
  std::vector<size_t> committed;  // Sizes of the groups at the front of `copies`.
  size_t uncommitted = 0;
  WideProducts wide;
  BoxStores stores;
  const PhaseBarrier* awaited = nullptr;  // in_phase: until its phase is another one than this.
  bool has_arrived = false;               // At the cluster's barrier, which it has not waited for; in this phase of it.
  unsigned awaited_cluster = 0;
  unsigned registers = 0;        // 0: as many as at the kernel's start.
  std::vector<size_t> unfenced;  // 16-byte pieces of shared memory that it has written since its proxy fence.
};

struct Block {
  struct Barrier {
    unsigned came = 0, threads = 0;  // How many threads are there, and for how many they wait (0: all that live).
    Reduce reduce = Reduce::none;
    unsigned first = 0;  // The thread that came first, and where from.
    Site site = {"", 0};
    Told told;  // The work of those who came.
  };
  struct Warp {
    unsigned live = 0;     // Lanes that are not done.
    unsigned waiting = 0;  // How many wait in a collective.
  };
  // An access to its shared memory by a warp of another block.
  struct Visit {
    uint32_t time = 0;
    Site site = {"", 0};
  };

  unsigned rank = 0;          // In the cluster.
  Triple place{0, 0, 0};      // In the grid.
  unsigned first_thread = 0;  // Numbers in the cluster.
  unsigned first_warp = 0;
  unsigned done = 0;  // Threads.
  std::vector<unsigned char> memory;
  unsigned char* dynamic = nullptr;  // In `memory`.
  std::vector<unsigned char> fixed;  // Static shared memory while another block runs.
  std::array<Barrier, 16> barriers;
  std::array<Warp, 32> warps;
  SharedShadow shadow;
  AsyncShadow async;
  std::vector<unsigned> unfenced_writer;  // By 16-byte piece of dynamic shared memory: its last writer + 1, or 0.
  std::map<size_t, PhaseBarrier> phase_barriers;  // By offset in dynamic shared memory.
  std::map<unsigned, Visit> visits;               // By warp of the cluster: the last one of each.
};

}  // namespace gart_sim
#endif
