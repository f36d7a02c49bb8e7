// Runs one launch of a kernel: block after block, the threads of a block as fibers that take turns at barriers and warp
// collectives. One launch runs at a time in the process.
//
// A fiber runs threads of the block one after the other until one of them waits; then another fiber goes on with the
// next thread. So a kernel without barriers is a loop of calls on one fiber.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_BLOCK_H
#define GART_TESTS_CUDA_SIM_ENGINE_BLOCK_H

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/cuda/sim/engine/async_shadow.h"
#include "tests/cuda/sim/engine/fiber.h"
#include "tests/cuda/sim/engine/memory.h"
#include "tests/cuda/sim/engine/report.h"
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
  std::array<Line, 2> rows = {};               // Of a left operand in registers: the two of the thread.
  [[nodiscard]] uint32_t* values() const { return static_cast<uint32_t*>(sums); }
};
struct WideProducts {
  std::vector<WideProduct> products;  // Oldest first.
  std::vector<size_t> committed;      // As AsyncCopy's.
  size_t uncommitted = 0;
  bool is_fenced = false;
  std::vector<std::pair<uint32_t*, std::vector<uint32_t>>> values;  // Of sums in flight, where signalling NaNs are now.
};

// A box of a tensor on its way to shared memory.
struct BoxCopy {
  TensorMap map;
  size_t target;  // Of dynamic shared memory.
  std::array<int64_t, TensorMap::kMostDimensions> at;
};
// A barrier in shared memory. A phase ends when all arrivals and all announced bytes have come.
struct PhaseBarrier {
  unsigned arrivals = 0, pending = 0;  // Of a phase; still to come in this one.
  int64_t announced = 0, copied = 0;   // Bytes.
  unsigned phase = 0;
  std::vector<BoxCopy> copies;                  // Of this phase: they land at its end.
  AsyncShadow::Clocks arrived = {}, over = {};  // What is known to who waits for this phase, for the one before.
  AsyncShadow::Clocks made = {};                // To who may use it.
  unsigned maker = 0;
};

// What a lane brings to a collective of its warp.
struct WarpRequest {
  enum class Kind { barrier, shuffle, vote, mma, ldmatrix, stmatrix, wgmma, wgmma_wait, registers };
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

struct Thread {
  enum class State { fresh, ready, in_barrier, in_warp, in_phase, done };
  State state = State::fresh;
  unsigned index = 0;
  Triple place{0, 0, 0};  // In the block.
  Fiber* fiber = nullptr;
  WarpRequest* request = nullptr;
  unsigned barrier_id = 0, barrier_threads = 0;
  Reduce reduce = Reduce::none;
  int predicate = 0;  // What it brings to the barrier, then what the barrier gives back.
  Site site = {"", 0};
  bool has_waited = false;        // For the launches that its own overlaps.
  std::vector<AsyncCopy> copies;  // Not yet waited for, oldest first.
  std::vector<size_t> committed;  // Sizes of the groups at the front of `copies`.
  size_t uncommitted = 0;
  WideProducts wide;
  const PhaseBarrier* awaited = nullptr;  // in_phase: until its phase is another one than this.
  unsigned awaited_parity = 0;
  unsigned registers = 0;        // 0: as many as at the kernel's start.
  std::vector<size_t> unfenced;  // 16-byte pieces of shared memory that it has written since its proxy fence.
};

struct Launch {
  const Module* module = nullptr;
  const Kernel* kernel = nullptr;
  Triple grid{1, 1, 1}, block{1, 1, 1};
  unsigned shared_bytes = 0;
  void** parameters = nullptr;
  bool is_early = false;  // It may start while launches run that its threads have to wait for.
  uint64_t seed = 0;      // Order of blocks and threads: 0 as numbered, 1 backwards, else shuffled by it.
};

struct LaunchResult {
  int error = 0;  // A CUresult: 0, 700 illegal address, 715 illegal instruction, 716 misaligned, 719 launch failed.
  Footprint footprint;
};

// Leads from where a thread does wrong to where its kernel called the engine.
struct Fault {};

const Hooks& hooks();
LaunchResult run_launch(const Launch& launch);
// What a kernel calls to set a conditional handle.
void set_conditional_callback(void (*callback)(unsigned long long handle, unsigned value));

class BlockRunner {
 public:
  static BlockRunner& get();
  LaunchResult run(const Launch& launch);

  // Called by the kernel, inside a fiber.
  int barrier(unsigned id, unsigned threads, Reduce reduce, int predicate, Site site);
  void collective(WarpRequest& request);
  void touch(uint64_t address, size_t bytes, Access access, const char* doing);
  unsigned active_mask() const;
  void copy_async(const AsyncCopy& copy, Site site);
  void copy_commit();
  void copy_wait(unsigned groups_left);
  void wgmma(const WideProduct& product, Site site);
  void wgmma_fence() { current_->wide.is_fenced = true; }
  void wgmma_commit();
  void wgmma_wait(unsigned groups_left, Site site);
  void proxy_fence();
  void grid_wait();
  void phase_init(void* barrier, unsigned arrivals, Site site);
  void phase_arrive(void* barrier, unsigned bytes, Site site);
  void phase_wait(void* barrier, unsigned parity, Site site);
  void copy_box(void* shared, const void* map, const int* at, unsigned rank, void* barrier, Site site);
  void set_registers(unsigned count, bool more, Site site);
  // Reports, ends the launch with `error` and throws Fault.
  [[noreturn]] void fault(Finding finding, int error, const std::string& text);
  // The current thread never goes on: its kernel knows no exceptions.
  [[noreturn]] void abandon_thread();
  [[nodiscard]] std::string at(Site site) const;
  [[nodiscard]] const State* state() const { return state_; }
  [[nodiscard]] bool is_shared(uint64_t address, size_t bytes) const;

 private:
  static void fiber_main();
  void prepare(const Launch& launch);
  bool run_block(unsigned number);
  void run_threads();
  Fiber* next_fiber();
  void pass_on();
  Thread* next_fresh();
  void switch_in(Thread& thread);
  void wait(Thread::State state);
  bool finish_thread();
  bool is_barrier_complete(unsigned id) const;
  void release_barrier(unsigned id);
  bool is_warp_ready(const WarpRequest& request, Lanes& lanes);
  void complete(const WarpRequest& request, const Lanes& lanes);
  void recheck_waiters(unsigned warp);
  void report_stuck();
  void note_early(uint64_t address, size_t bytes, Access access);
  void touch_shared(size_t offset, size_t bytes, Access access, const char* doing);
  void write_copy(const AsyncCopy& copy);
  void note_unfenced(size_t offset, size_t bytes);
  PhaseBarrier& phase_barrier(void* barrier, Site site);
  void end_phase_if_complete(PhaseBarrier& barrier);
  void check_box(const TensorMap& map, size_t target, const PhaseBarrier& barrier, Site site);
  void touch_source(const BoxCopy& copy);
  void land(const BoxCopy& copy);
  void touch_pieces(size_t offset, size_t bytes, const char* doing);
  void check_registers();
  void multiply(const WideProduct& product, std::vector<uint32_t>& sums, Site site);
  WideProduct::Line wide_line(uint64_t descriptor, bool across, unsigned row, Site site);
  const unsigned char* wide_bytes(uint64_t address, unsigned swizzle, unsigned bytes, Site site);
  [[nodiscard]] std::string thread_name(unsigned index) const;

  Launch launch_;
  LaunchResult result_;
  State* state_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<unsigned> order_;
  size_t fresh_ = 0;  // Next in order_.
  unsigned done_ = 0;
  std::vector<unsigned> ready_;
  Thread* current_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  Fiber* fiber_ = nullptr;
  struct Barrier {
    unsigned waiting = 0, first = 0;  // How many threads wait, and the one that came first.
  };
  std::array<Barrier, 16> barriers_{};
  struct Warp {
    unsigned live = 0;     // Lanes that are not done.
    unsigned waiting = 0;  // How many wait in a collective.
  };
  std::array<Warp, 32> warps_{};
  bool is_stopped_ = false;
  bool has_race_ = false;
  std::vector<Range> early_[2];  // What the block's threads have read, written before they waited.
  std::mt19937_64 random_;
  std::vector<unsigned char> shared_;
  unsigned char* dynamic_ = nullptr;
  SharedShadow shadow_;
  std::vector<unsigned> unfenced_writer_;  // By 16-byte piece of dynamic shared memory: its last writer + 1, or 0.
  AsyncShadow async_;
  std::map<size_t, PhaseBarrier> phase_barriers_;  // By offset in dynamic shared memory.
};

}  // namespace gart_sim
#endif
