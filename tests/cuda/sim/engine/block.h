// Runs one launch of a kernel: cluster after cluster (of one block, mostly), the threads of a cluster as fibers that
// take turns at barriers and warp collectives. One launch runs at a time in the process.
//
// A fiber runs threads of the cluster one after the other, until one thread waits. Then another fiber continues with
// the next thread. So a kernel without barriers is a loop of calls on one fiber.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_BLOCK_H
#define GART_TESTS_CUDA_SIM_ENGINE_BLOCK_H

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/cuda/sim/engine/block_state.h"
#include "tests/cuda/sim/engine/memory.h"
#include "tests/cuda/sim/engine/report.h"

namespace gart_sim {

struct Launch {
  const Module* module = nullptr;
  const Kernel* kernel = nullptr;
  Triple grid{1, 1, 1}, block{1, 1, 1};
  unsigned shared_bytes = 0;
  void** parameters = nullptr;
  bool is_early = false;  // the launch may start while other launches run, for which its threads must wait
  uint64_t seed = 0;      // order of blocks and threads: 0 as numbered, 1 reversed, otherwise the seed of a shuffle
};

struct LaunchResult {
  int error = 0;  // a CUresult: 0, 700 illegal address, 715 illegal instruction, 716 misaligned, 719 launch failed
  Footprint footprint;
};

// Thrown when a thread causes a fault; caught where its kernel called the engine.
struct Fault {};

const Hooks& hooks();
LaunchResult run_launch(const Launch& launch);
// Sets the function that runs when a kernel sets a conditional handle.
void set_conditional_callback(void (*callback)(unsigned long long handle, unsigned value));

class BlockRunner {
 public:
  static BlockRunner& get();
  LaunchResult run(const Launch& launch);

  // The kernel calls these functions inside a fiber.
  int barrier(unsigned id, unsigned threads, Reduce reduce, int predicate, Site site);
  void barrier_arrive(unsigned id, unsigned threads, Site site);
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
  void phase_arrive_in_cluster(void* barrier, unsigned rank, Site site);
  void phase_wait(void* barrier, unsigned parity, Site site);
  void copy_box(const BoxCall& call, Site site);
  void store_box(const BoxCall& call, Site site);
  void store_commit();
  void store_wait(unsigned groups_left);
  unsigned cluster_rank() const { return block_->rank; }
  void cluster_arrive(bool relaxed, Site site);
  void cluster_wait(Site site);
  void load_in_cluster(unsigned address, void* out, unsigned bytes, Site site);
  void set_registers(unsigned count, bool more, Site site);
  // Reports a fault, ends the launch with `error` and throws Fault.
  [[noreturn]] void fault(Finding finding, int error, const std::string& text);
  // Stops the current thread for ever, because an exception cannot unwind its kernel.
  [[noreturn]] void abandon_thread();
  [[nodiscard]] std::string at(Site site) const;
  [[nodiscard]] const State* state() const { return state_; }
  [[nodiscard]] bool is_shared(uint64_t address, size_t bytes) const;
  // For collectives: touches memory as a lane of the current warp.
  void touch_as(unsigned lane, const void* address, size_t bytes, Access access, const char* doing);

 private:
  static void fiber_main();
  void prepare(const Launch& launch);
  void prepare_memory(Block& block);
  void begin_block(Block& block, unsigned number);
  void begin_thread(Thread& thread);
  bool run_cluster(unsigned number);
  void run_threads();
  void end_block(Block& block);
  Fiber* next_fiber();
  void pass_on();
  Thread* next_fresh();
  void switch_in(Thread& thread);
  void switch_block(Block& block);
  void wait(Thread::State state);
  void tell(Told& to, bool relaxed = false);
  void learn(unsigned warp, const Told& from);
  bool finish_thread();
  void check_exit(Block& block);
  Block::Barrier& come_to_barrier(unsigned id, unsigned threads, Reduce reduce, bool waits, Site site);
  bool is_barrier_complete(const Block& block, unsigned id) const;
  void release_barrier(Block& block, unsigned id);
  bool is_warp_ready(const WarpRequest& request, Lanes& lanes);
  void complete(const WarpRequest& request, const Lanes& lanes);
  void recheck_waiters(Thread& done);
  void report_stuck();
  void note_early(uint64_t address, size_t bytes, Access access);
  void touch_shared(Block& block, size_t offset, size_t bytes, Access access, const char* doing);
  void touch_pieces(Block& block, size_t offset, size_t bytes, Access access, const char* doing);
  void write_copy(const AsyncCopy& copy);
  void note_unfenced(size_t offset, size_t bytes);
  [[nodiscard]] size_t offset_of(const void* shared) const;
  Block& visit(unsigned rank, Site site);
  PhaseBarrier& phase_barrier(Block& block, size_t offset, Site site);
  void arrive(PhaseBarrier& barrier, unsigned bytes, Site site);
  void end_phase_if_complete(Block& block, PhaseBarrier& barrier);
  BoxCopy decode(const BoxCall& call, const char* doing, Site site);
  void check_target(Block& block, const BoxCopy& copy, const std::string& where);
  void copy_to(Block& block, const BoxCopy& copy, size_t barrier, bool is_remote, Site site);
  void touch_tensor(const BoxCopy& copy, Access access, const char* doing);
  void land(Block& block, const BoxCopy& copy);
  void finish_store(const BoxCopy& store);
  void end_cluster_barrier_if_complete();
  void check_registers(const Block& block);
  void multiply(const WideProduct& product, std::vector<uint32_t>& sums, Site site);
  WideProduct::Line wide_line(uint64_t descriptor, bool across, unsigned row, bool touches, Site site);
  const unsigned char* wide_bytes(uint64_t address, unsigned swizzle, unsigned bytes, bool touches, Site site);
  [[nodiscard]] std::string thread_name(const Thread& thread) const;
  [[nodiscard]] std::string warp_name(unsigned warp) const;

  Launch launch_;
  LaunchResult result_;
  State* state_ = nullptr;
  unsigned cluster_size_ = 1, block_threads_ = 0, block_warps_ = 0;
  std::vector<Block> blocks_;    // the blocks of the cluster
  std::vector<Thread> threads_;  // the threads of all these blocks
  std::vector<unsigned> order_;
  size_t fresh_ = 0;  // next index in order_
  std::vector<unsigned> ready_;
  Thread* current_ = nullptr;
  Block* block_ = nullptr;  // the block of the current thread
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  Fiber* fiber_ = nullptr;
  bool is_stopped_ = false;
  bool has_race_ = false;
  std::vector<Range> early_[2];  // reads and writes of the cluster's threads before their wait
  std::mt19937_64 random_;
  WarpClocks clocks_;      // each warp's knowledge of memory accesses,
  WarpClocks run_clocks_;  // and of the progress of other warps
  struct ClusterBarrier {
    unsigned came = 0, phase = 0;
    Told told;   // the work of the threads that arrived
    Told known;  // the same for the previous phase, for threads that wait
  };
  ClusterBarrier cluster_barrier_;
};

}  // namespace gart_sim
#endif
