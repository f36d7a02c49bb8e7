// The state of a running cluster: its blocks with their shared memory, and their threads.
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

// A product of a warpgroup for which a thread has not waited yet.
struct WideProduct : WideCall {
  using Line = std::array<unsigned char, 32>;  // all depths of a row or column
  std::array<Line, 2> rows = {};               // the thread's two rows of a left operand in registers
  [[nodiscard]] uint32_t* values() const { return static_cast<uint32_t*>(sums); }
};
struct WideProducts {
  std::vector<WideProduct> products;  // oldest first
  std::vector<size_t> committed;      // as in Thread::committed
  size_t uncommitted = 0;
  bool is_fenced = false;
  std::vector<std::pair<uint32_t*, std::vector<uint32_t>>>
      values;  // sums in flight, which hold signalling NaNs until the wait
};

// A box of a tensor that is being copied from or to shared memory.
struct BoxCopy {
  TensorMap map;
  size_t target;  // offset in dynamic shared memory
  std::array<int64_t, TensorMap::kMostDimensions> at;
  std::array<unsigned, TensorMap::kMostDimensions - 2> offsets = {};  // for images
};
// Stores for which a thread has not waited yet.
struct BoxStores {
  std::vector<BoxCopy> stores;    // oldest first
  std::vector<size_t> committed;  // as in Thread::committed
  size_t uncommitted = 0;
};
// A barrier in shared memory. A phase ends when all threads have arrived and all announced bytes are copied.
struct PhaseBarrier {
  unsigned arrivals = 0, pending = 0;  // arrivals per phase, and missing arrivals of the current phase
  int64_t announced = 0, copied = 0;   // in bytes; copies of other blocks may land before their bytes are announced
  unsigned phase = 0;
  std::vector<BoxCopy> copies;  // copies of this phase; they land at its end
  Told arrived, over;           // for threads that wait for this phase, and for the previous one
  Told made;                    // for threads that may use the barrier
  unsigned maker = 0;           // a warp of the cluster
};

// A lane's arguments to a collective of its warp.
struct WarpRequest {
  enum class Kind { barrier, shuffle, vote, mma, ldmatrix, stmatrix, wgmma, wgmma_wait, registers, cluster };
  Kind kind;
  unsigned detail;  // which shuffle, vote or product, and its width; equal in all lanes
  unsigned mask;
  Site site;
  void* inout;
  const void* a;
  const void* b;
  int lane;        // a shuffle's third argument
  unsigned bytes;  // of a shuffle
};
using Lanes = std::array<WarpRequest*, 32>;  // null: the lane does not take part

struct Block;
struct Thread {
  enum class State { fresh, ready, in_barrier, in_warp, in_phase, in_cluster, done };
  State state = State::fresh;
  Block* block = nullptr;
  unsigned index = 0;     // in the block
  unsigned number = 0;    // in the cluster
  unsigned warp = 0;      // in the cluster
  Triple place{0, 0, 0};  // in the block
  Fiber* fiber = nullptr;
  WarpRequest* request = nullptr;
  unsigned barrier_id = 0;
  int predicate = 0;  // the thread's argument to the barrier, later the barrier's result
  Site site = {"", 0};
  bool has_waited = false;        // waited for the launches that its own launch overlaps
  std::vector<AsyncCopy> copies;  // not yet waited for, oldest first
  std::vector<size_t> committed;  // sizes of the groups at the front of `copies`
  size_t uncommitted = 0;
  WideProducts wide;
  BoxStores stores;
  const PhaseBarrier* awaited = nullptr;  // in state in_phase: the thread waits for a phase of this barrier
  bool has_arrived = false;               // at the cluster's barrier in its current phase, without having waited yet
  unsigned awaited_cluster = 0;
  unsigned registers = 0;        // 0: as many as at the kernel's start
  std::vector<size_t> unfenced;  // 16-byte pieces of shared memory, written since the thread's last proxy fence
};

struct Block {
  struct Barrier {
    unsigned came = 0, threads = 0;  // number of threads that arrived, and number to wait for (0: all live threads)
    Reduce reduce = Reduce::none;
    unsigned first = 0;  // the thread that arrived first, and its call site
    Site site = {"", 0};
    Told told;  // the work of the threads that arrived
  };
  struct Warp {
    unsigned live = 0;     // lanes that are not done
    unsigned waiting = 0;  // number of lanes that wait in a collective
  };
  // An access to the block's shared memory by a warp of another block.
  struct Visit {
    uint32_t time = 0;
    Site site = {"", 0};
  };

  unsigned rank = 0;          // in the cluster
  Triple place{0, 0, 0};      // in the grid
  unsigned first_thread = 0;  // index in the cluster
  unsigned first_warp = 0;
  unsigned done = 0;  // number of threads
  std::vector<unsigned char> memory;
  unsigned char* dynamic = nullptr;  // points into `memory`
  std::vector<unsigned char> fixed;  // static shared memory, saved while another block runs
  std::array<Barrier, 16> barriers;
  std::array<Warp, 32> warps;
  SharedShadow shadow;
  AsyncShadow async;
  std::vector<unsigned> unfenced_writer;  // by 16-byte piece of dynamic shared memory: its last writer + 1, or 0
  std::map<size_t, PhaseBarrier> phase_barriers;  // by offset in dynamic shared memory
  std::map<unsigned, Visit> visits;               // by warp of the cluster: its last visit
};

}  // namespace gart_sim
#endif
