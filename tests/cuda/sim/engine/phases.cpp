// Barriers in shared memory, and registers that warpgroups give to each other. PTX ISA, "mbarrier" (phases, pending
// arrivals and bytes, expect_tx) and "setmaxnreg".
#include <algorithm>

#include "tests/cuda/sim/engine/block.h"

namespace gart_sim {
namespace {
constexpr unsigned kWarpgroup = 128;
}

void BlockRunner::phase_init(void* barrier, unsigned arrivals, Site site) {
  const auto address = reinterpret_cast<uint64_t>(barrier);
  const uint64_t offset = address - reinterpret_cast<uint64_t>(block_->dynamic);
  if (address % 8) fault(Finding::misaligned, 716, "a barrier that is not 8-aligned at " + at(site));
  if (offset + 8 > launch_.shared_bytes)
    fault(Finding::out_of_bounds, 700, "a barrier outside of dynamic shared memory at " + at(site));
  if (arrivals < 1 || arrivals >= 1u << 20)
    fault(Finding::async_copy, 719, "a barrier of " + std::to_string(arrivals) + " arrivals at " + at(site));
  touch(address, 8, Access::write, "a barrier's making");
  PhaseBarrier& made = block_->phase_barriers[offset] = {};
  made.arrivals = made.pending = arrivals;
  made.maker = current_->warp;
  tell(made.made);
}

PhaseBarrier& BlockRunner::phase_barrier(Block& block, size_t offset, Site site) {
  const auto found = block.phase_barriers.find(offset);
  if (found == block.phase_barriers.end())
    fault(Finding::async_copy, 719, "a barrier that nobody has made, at " + at(site));
  const PhaseBarrier& made = found->second;
  const unsigned warp = current_->warp;
  if (warp != made.maker && clocks_.known(warp, made.maker) < made.made.memory[made.maker])
    fault(Finding::shared_race, 719,
          "a barrier that another warp makes, with no barrier of the block or cluster since, at " + at(site));
  return found->second;
}

void BlockRunner::arrive(PhaseBarrier& barrier, unsigned bytes, Site site) {
  if (barrier.pending == 0)
    fault(Finding::async_copy, 719, "one arrival more than the phase of its barrier has, at " + at(site));
  tell(barrier.arrived);
  --barrier.pending;
  barrier.announced += bytes;
}

void BlockRunner::phase_arrive(void* address, unsigned bytes, Site site) {
  PhaseBarrier& barrier = phase_barrier(*block_, offset_of(address), site);
  arrive(barrier, bytes, site);
  end_phase_if_complete(*block_, barrier);
}

void BlockRunner::phase_arrive_in_cluster(void* address, unsigned rank, Site site) {
  Block& block = visit(rank, site);
  PhaseBarrier& barrier = phase_barrier(block, offset_of(address), site);
  arrive(barrier, 0, site);
  end_phase_if_complete(block, barrier);
}

void BlockRunner::phase_wait(void* address, unsigned parity, Site site) {
  PhaseBarrier& barrier = phase_barrier(*block_, offset_of(address), site);
  Thread& self = *current_;
  if (parity > 1) fault(Finding::async_copy, 719, "a phase of parity " + std::to_string(parity) + " at " + at(site));
  if (barrier.phase % 2 == parity) {
    self.awaited = &barrier;
    self.site = site;
    wait(Thread::State::in_phase);
  }
  if (barrier.phase > 0) learn(self.warp, barrier.over);
}

// Completes the phase's copies, and lets the threads that wait for the phase continue.
void BlockRunner::end_phase_if_complete(Block& block, PhaseBarrier& barrier) {
  if (barrier.pending > 0 || barrier.announced != barrier.copied) return;
  for (const BoxCopy& copy : barrier.copies) land(block, copy);
  clocks_.release_copies(barrier.arrived.memory);
  barrier.copies.clear();
  barrier.over = std::move(barrier.arrived);
  barrier.arrived = {};
  barrier.pending = barrier.arrivals;
  barrier.announced = barrier.copied = 0;
  ++barrier.phase;
  const size_t first = ready_.size();
  for (const unsigned number : order_) {
    Thread& thread = threads_[number];
    if (thread.state != Thread::State::in_phase || thread.awaited != &barrier) continue;
    thread.state = Thread::State::ready;
    ready_.push_back(number);
  }
  if (launch_.seed > 1) std::shuffle(ready_.begin() + static_cast<std::ptrdiff_t>(first), ready_.end(), random_);
}

// PTX ISA, setmaxnreg: counts are multiples of 8 from 24 to 256. .dec releases registers and .inc requests more,
// relative to the warp's present number. All warps of a warpgroup run the same instruction. CUTLASS has the same limits
// in arch/reg_reconfig.h.
void BlockRunner::set_registers(unsigned count, bool more, Site site) {
  Thread& self = *current_;
  if (count % 8 || count < 24 || count > 256)
    fault(Finding::registers, 719,
          std::to_string(count) + " registers at " + at(site) + ", not a multiple of 8 from 24 to 256");
  if (self.registers && (more ? count < self.registers : count > self.registers))
    fault(Finding::registers, 719, "registers are given back by taking them, or taken by giving, at " + at(site));
  self.registers = count;
}

// PTX ISA, setmaxnreg: registers come from a pool of the block and return to it, and .inc waits until the pool has
// enough. Warps that take more registers than the block began with would wait for ever. The block begins with its share
// of a multiprocessor's 65536 registers (CUDA C++ Programming Guide, "Compute capabilities"): the registers are divided
// among as many blocks as the launch bounds promise, and rounded down to a multiple of eight per thread. ptxas assigns
// this number if there are launch bounds; the assembler (codegen/cuda/assembler) asks the real ptxas.
void BlockRunner::check_registers(const Block& block) {
  constexpr unsigned kAll = 65536;
  const Kernel& kernel = *launch_.kernel;
  const unsigned warps = (kernel.max_threads + 31) / 32;
  const unsigned at_start = std::min(256u, kAll / (32 * warps * std::max(kernel.min_blocks, 1u)) / 8 * 8);
  const Thread* const threads = &threads_[block.first_thread];
  if (std::all_of(threads, threads + block_threads_, [](const Thread& t) { return t.registers == 0; })) return;
  unsigned now = 0, before = 0;
  std::string trouble;
  for (size_t first = 0; first < block_threads_; first += kWarpgroup) {
    const unsigned own = threads[first].registers;
    for (size_t i = first; i < first + kWarpgroup; ++i) {
      if (i >= block_threads_ || threads[i].registers != own) trouble = "the threads of a warpgroup do not agree";
    }
    now += own ? own : at_start;
    before += at_start;
  }
  if (now > before)
    trouble = std::to_string(now) + " registers per four warps are taken, there are " + std::to_string(before);
  if (trouble.empty()) return;
  report(Finding::registers, std::string(kernel.name) + ": " + trouble);
  result_.error = 719;
  is_stopped_ = true;
}

}  // namespace gart_sim
