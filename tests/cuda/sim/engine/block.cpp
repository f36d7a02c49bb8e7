#include "tests/cuda/sim/engine/block.h"

#include <link.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "tests/cuda/sim/engine/warp.h"

namespace gart_sim {
namespace {

constexpr size_t kSharedGuard = 64 * 1024;
constexpr unsigned char kPoison = 0xff;

// The calling thread's copy of the static shared memory of the module that `anchor` lies in.
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

void BlockRunner::prepare(const Launch& launch) {
  launch_ = launch;
  result_ = {};
  state_ = launch.module->state;
  is_stopped_ = has_race_ = false;
  random_.seed(launch.seed);
  const size_t count = size_t{launch.block.x} * launch.block.y * launch.block.z;
  threads_.resize(count);
  order_.resize(count);
  const size_t shared = (launch.shared_bytes + 15u) & ~size_t{15};
  if (shared_.size() < shared + 2 * kSharedGuard + 1024) shared_.resize(shared + 2 * kSharedGuard + 1024);
  const auto base = reinterpret_cast<uint64_t>(shared_.data()) + kSharedGuard;
  dynamic_ = shared_.data() + kSharedGuard + ((1024 - base % 1024) % 1024);
  *state_ = {};
  state_->block_size = launch.block;
  state_->grid = launch.grid;
  state_->shared = dynamic_;
  state_->device_begin = DeviceMemory::get().base();
  state_->device_bytes = DeviceMemory::get().reserved();
  state_->shared_begin = reinterpret_cast<uint64_t>(dynamic_) - kSharedGuard;
  state_->shared_bytes = launch.shared_bytes + 2 * kSharedGuard - 1024;
  const Range fixed = static_shared_of(*launch.module);
  state_->static_shared_begin = fixed.begin;
  state_->static_shared_bytes = fixed.end - fixed.begin;
  unfenced_writer_.assign(shared / 16, 0);
  shadow_.resize(launch.shared_bytes + (fixed.end - fixed.begin));
}

LaunchResult BlockRunner::run(const Launch& launch) {
  prepare(launch);
  DeviceMemory& memory = DeviceMemory::get();
  Range exempt;  // The status word, by convention the last parameter but for tensor maps: any block may set it.
  const Kernel& kernel = *launch.kernel;
  unsigned parameters = kernel.parameters;
  while (parameters && kernel.sizes[parameters - 1] == TensorMap::kBytes) --parameters;
  if (parameters && kernel.sizes[parameters - 1] == 8) {
    memcpy(&exempt.begin, launch.parameters[parameters - 1], 8);
    exempt.end = exempt.begin + 4;
  }
  memory.begin_launch(exempt);
  std::vector<unsigned> blocks(size_t{launch.grid.x} * launch.grid.y * launch.grid.z);
  std::iota(blocks.begin(), blocks.end(), 0u);
  if (launch.seed == 1) std::reverse(blocks.begin(), blocks.end());
  if (launch.seed > 1) std::shuffle(blocks.begin(), blocks.end(), random_);
  memory.open();
  for (const unsigned block : blocks) {
    if (!run_block(block)) break;
    if (const uint64_t race = memory.end_block(); race && !has_race_) {
      has_race_ = true;
      if (!result_.error) result_.error = 719;
      report(Finding::block_race,
             std::string(launch.kernel->name) + ": block " + std::to_string(block) +
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

// False: the launch has failed.
bool BlockRunner::run_block(unsigned number) {
  const Triple& grid = launch_.grid;
  state_->block = {number % grid.x, number / grid.x % grid.y, number / (grid.x * grid.y)};
  memset(dynamic_, kPoison, launch_.shared_bytes);
  memset(reinterpret_cast<void*>(state_->static_shared_begin), kPoison, state_->static_shared_bytes);
  shadow_.block_barrier();
  for (unsigned i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    thread.state = Thread::State::fresh;
    thread.index = i;
    thread.place = {i % launch_.block.x, i / launch_.block.x % launch_.block.y,
                    i / (launch_.block.x * launch_.block.y)};
    thread.fiber = nullptr;
    thread.request = nullptr;
    thread.has_waited = false;
    thread.wide = {};
    thread.awaited = nullptr;
    thread.registers = 0;
    thread.unfenced.clear();
    thread.copies.clear();
    thread.committed.clear();
    thread.uncommitted = 0;
    order_[i] = i;
  }
  if (launch_.seed == 1) std::reverse(order_.begin(), order_.end());
  if (launch_.seed > 1) std::shuffle(order_.begin(), order_.end(), random_);
  fresh_ = 0;
  done_ = 0;
  ready_.clear();
  barriers_ = {};
  warps_ = {};
  async_.reset();
  phase_barriers_.clear();
  for (unsigned i = 0; i < threads_.size(); ++i) warps_[i / 32].live |= 1u << i % 32;
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
  if (!is_stopped_ && done_ < threads_.size()) report_stuck();
  if (!is_stopped_) check_registers();
  return !is_stopped_;
}

// Gives turns until every thread is done or none can go on.
void BlockRunner::run_threads() {
  while (Fiber* next = is_stopped_ ? nullptr : next_fiber()) next->resume();
}

// The fiber whose turn it is, with its thread as the current one; null: no thread can go on.
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

// The current thread waits, and another one has its turn.
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
  state_->thread = thread.place;
  state_->is_early = launch_.is_early && !thread.has_waited;
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

// Barriers and collectives do not wait for threads that are done. False: without this one they turn out to be wrong.
bool BlockRunner::finish_thread() try {
  current_->state = Thread::State::done;
  if (launch_.is_early && !current_->has_waited) result_.footprint.has_waited = false;
  ++done_;
  const unsigned warp = current_->index / 32;
  warps_[warp].live &= ~(1u << current_->index % 32);
  if (done_ < threads_.size()) recheck_waiters(warp);
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
  report(finding, std::string(launch_.kernel->name) + ", " + thread_name(current_->index) + ": " + text);
  result_.error = error;
  is_stopped_ = true;
  throw Fault();
}

void BlockRunner::abandon_thread() {
  fiber_->suspend();
  __builtin_unreachable();
}

std::string BlockRunner::thread_name(unsigned index) const {
  return "block " + std::to_string(state_->block.x) + " thread " + std::to_string(index);
}

std::string BlockRunner::at(Site site) const { return std::string(site.file) + ":" + std::to_string(site.line); }

bool BlockRunner::is_barrier_complete(unsigned id) const {
  const Barrier& barrier = barriers_[id];
  if (!barrier.waiting) return false;
  const unsigned threads = threads_[barrier.first].barrier_threads;
  return barrier.waiting == (threads ? threads : threads_.size() - done_);
}

void BlockRunner::release_barrier(unsigned id) {
  int any = 0, all = 1, count = 0;
  Reduce reduce = Reduce::none;
  for (Thread& thread : threads_) {
    if (thread.state != Thread::State::in_barrier || thread.barrier_id != id) continue;
    reduce = thread.reduce;
    any |= thread.predicate != 0;
    all &= thread.predicate != 0;
    count += thread.predicate != 0;
  }
  const int result = reduce == Reduce::any ? any : reduce == Reduce::all ? all : count;
  const size_t first = ready_.size();
  uint32_t warps = 0;
  for (const unsigned index : order_) {
    Thread& thread = threads_[index];
    if (thread.state != Thread::State::in_barrier || thread.barrier_id != id) continue;
    thread.state = Thread::State::ready;
    warps |= 1u << index / 32;
    thread.predicate = result;
    ready_.push_back(index);
  }
  barriers_[id] = {};
  if (launch_.seed > 1) {
    std::shuffle(ready_.begin() + static_cast<std::ptrdiff_t>(first), ready_.end(), random_);
  } else {
    std::reverse(ready_.begin() + static_cast<std::ptrdiff_t>(first), ready_.end());  // The last one is taken first.
  }
  shadow_.block_barrier();
  async_.barrier(warps);
}

int BlockRunner::barrier(unsigned id, unsigned threads, Reduce reduce, int predicate, Site site) {
  if (id >= barriers_.size()) fault(Finding::divergence, 719, "no barrier " + std::to_string(id) + " at " + at(site));
  Thread& self = *current_;
  Barrier& barrier = barriers_[id];
  if (barrier.waiting++ == 0) barrier.first = self.index;
  self.barrier_id = id;
  self.barrier_threads = threads;
  self.reduce = reduce;
  self.predicate = predicate;
  self.site = site;
  self.state = Thread::State::in_barrier;
  const Thread& other = threads_[barrier.first];
  const bool same_site = other.site.line == site.line && strcmp(other.site.file, site.file) == 0;
  if (other.reduce != reduce || other.barrier_threads != threads || (id == 0 && !same_site)) {
    fault(Finding::divergence, 719,
          "divergent barrier: at " + at(site) + " while thread " + std::to_string(other.index) + " waits at " +
              at(other.site));
  }
  if (is_barrier_complete(id)) release_barrier(id);
  pass_on();
  return self.predicate;
}

unsigned BlockRunner::active_mask() const {
  unsigned mask = 0;
  for (unsigned l = 0, i = current_->index & ~31u; l < 32 && i < threads_.size(); ++l, ++i) {
    if (threads_[i].state != Thread::State::done) mask |= 1u << l;
  }
  return mask;
}

// Collects the requests of the lanes in the mask; false: some lane has not come yet.
bool BlockRunner::is_warp_ready(const WarpRequest& request, Lanes& lanes) {
  const Warp& warp = warps_[current_->index / 32];
  if (warp.waiting < static_cast<unsigned>(std::popcount(request.mask & warp.live))) return false;
  lanes = {};
  bool ready = true;
  const bool needs_all = request.kind >= WarpRequest::Kind::mma;
  const unsigned first = current_->index & ~31u;
  for (unsigned l = 0; l < 32; ++l) {
    if (!(request.mask >> l & 1u)) continue;
    Thread* thread = first + l < threads_.size() ? &threads_[first + l] : nullptr;
    if (!thread || thread->state == Thread::State::done) {
      if (needs_all)
        fault(Finding::divergence, 719, "lane " + std::to_string(l) + " is missing at " + at(request.site));
      continue;
    }
    if (!thread->request) {
      ready = false;
      continue;
    }
    const WarpRequest& other = *thread->request;
    if (other.kind != request.kind || other.detail != request.detail || other.mask != request.mask) {
      fault(Finding::divergence, 719,
            "divergent warp collective: at " + at(request.site) + " while lane " + std::to_string(l) + " waits at " +
                at(other.site) + ", with another operation or mask");
    }
    lanes[l] = thread->request;
  }
  return ready;
}

void BlockRunner::complete(const WarpRequest& request, const Lanes& lanes) {
  switch (request.kind) {
    case WarpRequest::Kind::barrier:
      shadow_.warp_barrier(current_->index / 32);
      break;
    case WarpRequest::Kind::shuffle:
      compute_shuffle(lanes, request.detail, *this);
      break;
    case WarpRequest::Kind::vote:
      compute_vote(lanes, static_cast<Vote>(request.detail));
      break;
    case WarpRequest::Kind::mma:
      compute_mma(lanes, static_cast<Mma>(request.detail));
      break;
    case WarpRequest::Kind::ldmatrix:
      compute_ldmatrix(lanes, request.detail >> 1, request.detail & 1u);
      break;
    case WarpRequest::Kind::stmatrix:
      compute_stmatrix(lanes, request.detail >> 1, request.detail & 1u);
      break;
    case WarpRequest::Kind::wgmma:
      compute_wide_rows(lanes);
      break;
    case WarpRequest::Kind::wgmma_wait:
    case WarpRequest::Kind::registers:
      break;
  }
  const unsigned first = current_->index & ~31u;
  for (unsigned l = 32; l-- > 0;) {
    if (!lanes[l]) continue;
    Thread& thread = threads_[first + l];
    thread.request = nullptr;
    --warps_[current_->index / 32].waiting;
    if (thread.state == Thread::State::in_warp) {
      thread.state = Thread::State::ready;
      ready_.push_back(first + l);
    }
  }
}

void BlockRunner::collective(WarpRequest& request) {
  Thread& self = *current_;
  if (!(request.mask >> self.index % 32 & 1u)) {
    fault(Finding::divergence, 719,
          "lane " + std::to_string(self.index % 32) + " is not in the mask of its collective at " + at(request.site));
  }
  self.request = &request;
  ++warps_[self.index / 32].waiting;
  Lanes lanes;
  if (is_warp_ready(request, lanes)) {
    complete(request, lanes);
  } else {
    wait(Thread::State::in_warp);
  }
}

// A thread is done: those that waited for it alone go on.
void BlockRunner::recheck_waiters(unsigned warp) {
  for (unsigned id = 0; id < barriers_.size(); ++id) {
    if (is_barrier_complete(id)) release_barrier(id);
  }
  for (unsigned l = 0; l < 32 && warp * 32 + l < threads_.size(); ++l) {
    Thread& thread = threads_[warp * 32 + l];
    Lanes lanes;
    if (thread.state != Thread::State::in_warp || !is_warp_ready(*thread.request, lanes)) continue;
    complete(*thread.request, lanes);
  }
}

void BlockRunner::report_stuck() {
  std::string text;
  int listed = 0;
  for (const Thread& thread : threads_) {
    if (thread.state == Thread::State::done || listed == 4) continue;
    const Site site = thread.state == Thread::State::in_warp ? thread.request->site : thread.site;
    text += std::string(listed++ ? ", " : "") + "thread " + std::to_string(thread.index) + " waits at " + at(site);
    if (thread.state == Thread::State::in_phase) {
      text += " for a phase that lacks " + std::to_string(thread.awaited->pending) + " arrivals and " +
              std::to_string(thread.awaited->announced - thread.awaited->copied) + " bytes";
    }
  }
  report(Finding::divergence, std::string(launch_.kernel->name) + ", block " + std::to_string(state_->block.x) + ": " +
                                  std::to_string(threads_.size() - done_) + " of " + std::to_string(threads_.size()) +
                                  " threads wait for ever: " + text);
  result_.error = 719;
  is_stopped_ = true;
}

}  // namespace gart_sim
