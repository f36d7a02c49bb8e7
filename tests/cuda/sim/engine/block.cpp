#include "tests/cuda/sim/engine/block.h"

#include <link.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace gart_sim {
namespace {

constexpr size_t kSharedGuard = 64 * 1024;
constexpr unsigned char kPoison = 0xff;

// The calling thread's copy of the static shared memory of the module that contains `anchor`.
Range static_shared_of(const Module& module) {
  struct Search {
    uint64_t anchor;
    Range range;
  } search{reinterpret_cast<uint64_t>(module.thread_local_anchor()), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        const auto begin = reinterpret_cast<uint64_t>(info->dlpi_tls_data);
        for (int i = 0; begin && i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_TLS || wanted.anchor - begin >= info->dlpi_phdr[i].p_memsz) continue;
          wanted.range = {begin, begin + info->dlpi_phdr[i].p_memsz};
          return 1;
        }
        return 0;
      },
      &search);
  return search.range;
}

}  // namespace

BlockRunner& BlockRunner::get() {
  static auto* runner = new BlockRunner;
  return *runner;
}

LaunchResult run_launch(const Launch& launch) { return BlockRunner::get().run(launch); }

void BlockRunner::prepare_memory(Block& block) {
  const size_t shared = (launch_.shared_bytes + 15u) & ~size_t{15};
  if (block.memory.size() < shared + 2 * kSharedGuard + 1024) block.memory.resize(shared + 2 * kSharedGuard + 1024);
  const auto base = reinterpret_cast<uint64_t>(block.memory.data()) + kSharedGuard;
  block.dynamic = block.memory.data() + kSharedGuard + ((1024 - base % 1024) % 1024);
}

void BlockRunner::prepare(const Launch& launch) {
  launch_ = launch;
  result_ = {};
  state_ = launch.module->state;
  is_stopped_ = has_race_ = false;
  random_.seed(launch.seed);
  cluster_size_ = std::max(launch.kernel->cluster, 1u);
  block_threads_ = launch.block.x * launch.block.y * launch.block.z;
  block_warps_ = (block_threads_ + 31) / 32;
  blocks_.resize(cluster_size_);
  threads_.resize(size_t{block_threads_} * cluster_size_);
  order_.resize(threads_.size());
  for (Block& block : blocks_) prepare_memory(block);
  *state_ = {};
  state_->block_size = launch.block;
  state_->grid = launch.grid;
  state_->device_begin = DeviceMemory::get().base();
  state_->device_bytes = DeviceMemory::get().reserved();
  const Range fixed = static_shared_of(*launch.module);
  state_->static_shared_begin = fixed.begin;
  state_->static_shared_bytes = fixed.end - fixed.begin;
}

LaunchResult BlockRunner::run(const Launch& launch) {
  prepare(launch);
  DeviceMemory& memory = DeviceMemory::get();
  Range exempt;  // The status word is exempt; by convention it is the last parameter that is not a tensor map. Any
                 // block may set it.
  const Kernel& kernel = *launch.kernel;
  unsigned parameters = kernel.parameters;
  while (parameters && kernel.sizes[parameters - 1] == TensorMap::kBytes) --parameters;
  if (parameters && kernel.sizes[parameters - 1] == 8) {
    memcpy(&exempt.begin, launch.parameters[parameters - 1], 8);
    exempt.end = exempt.begin + 4;
  }
  memory.begin_launch(exempt);
  std::vector<unsigned> clusters(size_t{launch.grid.x} * launch.grid.y * launch.grid.z / cluster_size_);
  std::iota(clusters.begin(), clusters.end(), 0u);
  if (launch.seed == 1) std::reverse(clusters.begin(), clusters.end());
  if (launch.seed > 1) std::shuffle(clusters.begin(), clusters.end(), random_);
  memory.open();
  for (const unsigned cluster : clusters) {
    if (!run_cluster(cluster)) break;
    if (const uint64_t race = memory.end_block(); race && !has_race_) {
      has_race_ = true;
      if (!result_.error) result_.error = 719;
      report(Finding::block_race,
             std::string(launch.kernel->name) + ": block " + std::to_string(cluster * cluster_size_) +
                 " and another one touch the same byte, one of them writes: " + memory.describe(race));
    }
  }
  if (!launch.module->is_watched) memory.define_everything();
  const std::string guard = launch.module->is_watched ? "" : memory.broken_guard();
  if (!guard.empty() && !result_.error) {
    result_.error = 700;
    report(Finding::out_of_bounds, std::string(launch.kernel->name) + ": " + guard);
  }
  Footprint early = std::move(result_.footprint);
  result_.footprint = memory.end_launch();
  result_.footprint.early_reads = std::move(early.early_reads);
  result_.footprint.early_writes = std::move(early.early_writes);
  result_.footprint.has_waited = early.has_waited;
  memory.close();
  return result_;
}

void BlockRunner::begin_block(Block& block, unsigned rank) {
  const Triple& grid = launch_.grid;
  const unsigned number = state_->block.x + rank;  // state_->block is still the first block of the cluster
  block.rank = rank;
  block.place = {number % grid.x, number / grid.x % grid.y, number / (grid.x * grid.y)};
  block.first_thread = rank * block_threads_;
  block.first_warp = rank * block_warps_;
  block.done = 0;
  memset(block.dynamic, kPoison, launch_.shared_bytes);
  block.fixed.assign(state_->static_shared_bytes, kPoison);
  block.barriers = {};
  block.warps = {};
  block.shadow.reset(launch_.shared_bytes + state_->static_shared_bytes);
  block.async.reset(launch_.shared_bytes);
  block.unfenced_writer.assign((launch_.shared_bytes + 15u) / 16, 0);
  block.phase_barriers.clear();
  block.visits.clear();
  for (unsigned i = 0; i < block_threads_; ++i) {
    Thread& thread = threads_[block.first_thread + i];
    thread = {};
    thread.block = &block;
    thread.index = i;
    thread.number = block.first_thread + i;
    thread.warp = block.first_warp + i / 32;
    thread.place = {i % launch_.block.x, i / launch_.block.x % launch_.block.y,
                    i / (launch_.block.x * launch_.block.y)};
    block.warps[i / 32].live |= 1u << i % 32;
  }
}

// Returns false if the launch has failed.
bool BlockRunner::run_cluster(unsigned number) {
  clocks_.reset(block_warps_ * cluster_size_);
  run_clocks_.reset(block_warps_ * cluster_size_);
  cluster_barrier_ = {};
  for (unsigned rank = 0; rank < cluster_size_; ++rank) {
    state_->block.x = number * cluster_size_;
    begin_block(blocks_[rank], rank);
  }
  block_ = nullptr;
  std::iota(order_.begin(), order_.end(), 0u);
  if (launch_.seed == 1) std::reverse(order_.begin(), order_.end());
  if (launch_.seed > 1) std::shuffle(order_.begin(), order_.end(), random_);
  fresh_ = 0;
  ready_.clear();
  idle_.clear();
  for (const auto& fiber : fibers_) idle_.push_back(fiber.get());
  run_threads();
  for (const auto& fiber : fibers_) {
    if (fiber->is_intact()) continue;
    report(Finding::trap, std::string(launch_.kernel->name) + ": a thread needs more than the simulation's stack");
    abort();
  }
  merge(result_.footprint.early_reads, std::exchange(early_[0], {}));
  merge(result_.footprint.early_writes, std::exchange(early_[1], {}));
  const auto is_left = [](const Thread& thread) { return thread.state != Thread::State::done; };
  if (!is_stopped_ && std::any_of(threads_.begin(), threads_.end(), is_left)) report_stuck();
  for (const Block& block : blocks_)
    if (!is_stopped_) check_registers(block);
  return !is_stopped_;
}

// Schedules threads until all are done or none can continue.
void BlockRunner::run_threads() {
  while (Fiber* next = is_stopped_ ? nullptr : next_fiber()) next->resume();
}

// The fiber that runs next, with its thread as the current one; null: no thread can continue.
Fiber* BlockRunner::next_fiber() {
  if (!ready_.empty()) {
    Thread& thread = threads_[ready_.back()];
    ready_.pop_back();
    switch_in(thread);
    return fiber_ = thread.fiber;
  }
  if (fresh_ == order_.size()) return nullptr;
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(static_cast<unsigned>(fibers_.size())));
    idle_.push_back(fibers_.back().get());
  }
  fiber_ = idle_.back();
  idle_.pop_back();
  fiber_->reset(&fiber_main);
  return fiber_;
}

// The current thread waits, and another thread runs.
void BlockRunner::pass_on() {
  Fiber& fiber = *current_->fiber;
  Fiber* const next = is_stopped_ ? nullptr : next_fiber();
  if (next == nullptr) {
    fiber.suspend();
  } else if (next != &fiber) {
    fiber.hand_over(*next);
  }
}

void BlockRunner::switch_in(Thread& thread) {
  current_ = &thread;
  if (thread.block != block_) switch_block(*thread.block);
  state_->thread = thread.place;
  state_->is_early = launch_.is_early && !thread.has_waited;
}

// Static shared memory is one place for all blocks, so each block's contents are swapped in while its threads run.
void BlockRunner::switch_block(Block& block) {
  auto* const fixed = reinterpret_cast<void*>(state_->static_shared_begin);
  if (block_ != nullptr) memcpy(block_->fixed.data(), fixed, state_->static_shared_bytes);
  memcpy(fixed, block.fixed.data(), state_->static_shared_bytes);
  block_ = &block;
  state_->block = block.place;
  state_->shared = block.dynamic;
  state_->shared_begin = reinterpret_cast<uint64_t>(block.dynamic) - kSharedGuard;
  state_->shared_bytes = launch_.shared_bytes + 2 * kSharedGuard - 1024;
}

Thread* BlockRunner::next_fresh() { return fresh_ < order_.size() ? &threads_[order_[fresh_++]] : nullptr; }

void BlockRunner::fiber_main() {
  BlockRunner& self = get();
  while (Thread* thread = self.next_fresh()) {
    thread->fiber = self.fiber_;
    self.switch_in(*thread);
    self.launch_.kernel->run(self.launch_.parameters);
    if (!self.finish_thread()) self.abandon_thread();
  }
  self.idle_.push_back(self.fiber_);
  self.fiber_->suspend();
}

// Barriers and collectives do not wait for ended threads. Returns false if one of them is wrong without this thread.
bool BlockRunner::finish_thread() try {
  Thread& self = *current_;
  if (!self.stores.stores.empty())
    fault(Finding::async_copy, 719, "a thread ends that has not waited until its box stores have read shared memory");
  self.state = Thread::State::done;
  if (launch_.is_early && !self.has_waited) result_.footprint.has_waited = false;
  ++block_->done;
  block_->warps[self.index / 32].live &= ~(1u << self.index % 32);
  if (block_->done == block_threads_) check_exit(*block_);
  recheck_waiters(self);
  return true;
} catch (const Fault&) {
  return false;
}

void BlockRunner::wait(Thread::State state) {
  Thread& thread = *current_;
  thread.state = state;
  pass_on();
}

void BlockRunner::fault(Finding finding, int error, const std::string& text) {
  report(finding, std::string(launch_.kernel->name) + ", " + thread_name(*current_) + ": " + text);
  result_.error = error;
  is_stopped_ = true;
  throw Fault();
}

void BlockRunner::abandon_thread() {
  fiber_->suspend();
  __builtin_unreachable();
}

std::string BlockRunner::thread_name(const Thread& thread) const {
  return "block " + std::to_string(thread.block->place.x) + " thread " + std::to_string(thread.index);
}

std::string BlockRunner::warp_name(unsigned warp) const {
  const std::string name = "warp " + std::to_string(warp % block_warps_);
  if (cluster_size_ == 1) return name;
  return name + " of block " + std::to_string(blocks_[warp / block_warps_].place.x);
}

std::string BlockRunner::at(Site site) const { return std::string(site.file) + ":" + std::to_string(site.line); }

void BlockRunner::report_stuck() {
  std::string text;
  size_t listed = 0, left = 0;
  for (const Thread& thread : threads_) {
    if (thread.state == Thread::State::done || ++left > 4) continue;
    const Site site = thread.state == Thread::State::in_warp ? thread.request->site : thread.site;
    text += (listed++ ? ", " : "") + thread_name(thread) + " waits at " + at(site);
    if (thread.state == Thread::State::in_phase) {
      text += " for a phase that lacks " + std::to_string(thread.awaited->pending) + " arrivals and " +
              std::to_string(thread.awaited->announced - thread.awaited->copied) + " bytes";
    }
  }
  report(Finding::divergence, std::string(launch_.kernel->name) + ", block " + std::to_string(blocks_[0].place.x) +
                                  ": " + std::to_string(left) + " of " + std::to_string(threads_.size()) +
                                  " threads wait for ever: " + text);
  result_.error = 719;
  is_stopped_ = true;
}

}  // namespace gart_sim
