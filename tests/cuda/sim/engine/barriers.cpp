// Barriers of a block, and the collectives of a warp: which threads wait, and which continue once all have arrived.
#include <algorithm>
#include <bit>
#include <cstring>

#include "tests/cuda/sim/engine/block.h"
#include "tests/cuda/sim/engine/warp.h"

namespace gart_sim {

// A warp that later learns from `to` knows everything that the current thread's warp has done so far.
void BlockRunner::tell(Told& to, bool relaxed) {
  if (!relaxed) clocks_.release(current_->warp, to.memory);
  if (cluster_size_ > 1) run_clocks_.release(current_->warp, to.run);
}
void BlockRunner::learn(unsigned warp, const Told& from) {
  clocks_.acquire(warp, from.memory);
  run_clocks_.acquire(warp, from.run);
}

bool BlockRunner::is_barrier_complete(const Block& block, unsigned id) const {
  const Block::Barrier& barrier = block.barriers[id];
  if (!barrier.came) return false;
  return barrier.came == (barrier.threads ? barrier.threads : block_threads_ - block.done);
}

// Threads of the block that wait at its barrier `id` continue, and know the work of all that arrived.
void BlockRunner::release_barrier(Block& block, unsigned id) {
  Block::Barrier& barrier = block.barriers[id];
  const auto waits = [id](const Thread& thread) {
    return thread.state == Thread::State::in_barrier && thread.barrier_id == id;
  };
  int any = 0, all = 1, count = 0;
  uint32_t warps = 0;
  for (unsigned i = 0; i < block_threads_; ++i) {
    const Thread& thread = threads_[block.first_thread + i];
    if (!waits(thread)) continue;
    any |= thread.predicate != 0;
    all &= thread.predicate != 0;
    count += thread.predicate != 0;
    warps |= 1u << i / 32;
  }
  const int result = barrier.reduce == Reduce::any ? any : barrier.reduce == Reduce::all ? all : count;
  for (unsigned warp = 0; warp < block_warps_; ++warp) {
    if (!(warps >> warp & 1u)) continue;
    learn(block.first_warp + warp, barrier.told);
  }
  const size_t first = ready_.size();
  for (const unsigned number : order_) {
    Thread& thread = threads_[number];
    if (thread.block != &block || !waits(thread)) continue;
    thread.state = Thread::State::ready;
    thread.predicate = result;
    ready_.push_back(number);
  }
  barrier = {};
  if (launch_.seed > 1) {
    std::shuffle(ready_.begin() + static_cast<std::ptrdiff_t>(first), ready_.end(), random_);
  } else {
    std::reverse(ready_.begin() + static_cast<std::ptrdiff_t>(first),
                 ready_.end());  // The last ready thread runs first.
  }
}

// The current thread arrives at the barrier.
Block::Barrier& BlockRunner::come_to_barrier(unsigned id, unsigned threads, Reduce reduce, bool waits, Site site) {
  if (id >= block_->barriers.size())
    fault(Finding::divergence, 719, "no barrier " + std::to_string(id) + " at " + at(site));
  if (threads % 32)
    fault(Finding::divergence, 719, "a barrier of " + std::to_string(threads) + " threads at " + at(site));
  Block::Barrier& barrier = block_->barriers[id];
  if (barrier.came++ == 0) {
    barrier.first = current_->index;
    barrier.site = site;
    barrier.reduce = reduce;
    barrier.threads = threads;
  }
  const bool same_site = barrier.site.line == site.line && strcmp(barrier.site.file, site.file) == 0;
  if (barrier.reduce != reduce || barrier.threads != threads || (id == 0 && waits && !same_site)) {
    fault(Finding::divergence, 719,
          "divergent barrier: at " + at(site) + " while thread " + std::to_string(barrier.first) + " waits at " +
              at(barrier.site));
  }
  tell(barrier.told);
  return barrier;
}

int BlockRunner::barrier(unsigned id, unsigned threads, Reduce reduce, int predicate, Site site) {
  Thread& self = *current_;
  come_to_barrier(id, threads, reduce, true, site);
  self.barrier_id = id;
  self.predicate = predicate;
  self.site = site;
  self.state = Thread::State::in_barrier;
  if (is_barrier_complete(*block_, id)) release_barrier(*block_, id);
  pass_on();
  return self.predicate;
}

void BlockRunner::barrier_arrive(unsigned id, unsigned threads, Site site) {
  if (threads == 0) fault(Finding::divergence, 719, "an arrival at a barrier of 0 threads at " + at(site));
  come_to_barrier(id, threads, Reduce::none, false, site);
  if (is_barrier_complete(*block_, id)) release_barrier(*block_, id);
}

unsigned BlockRunner::active_mask() const {
  unsigned mask = 0;
  for (unsigned l = 0, i = current_->index & ~31u; l < 32 && i < block_threads_; ++l, ++i) {
    if (threads_[block_->first_thread + i].state != Thread::State::done) mask |= 1u << l;
  }
  return mask;
}

// Collects the requests of the lanes in the mask. False: some lane has not arrived yet.
bool BlockRunner::is_warp_ready(const WarpRequest& request, Lanes& lanes) {
  const Block::Warp& warp = block_->warps[current_->index / 32];
  if (warp.waiting < static_cast<unsigned>(std::popcount(request.mask & warp.live))) return false;
  lanes = {};
  bool ready = true;
  const bool needs_all = request.kind >= WarpRequest::Kind::mma;
  const unsigned first = current_->index & ~31u;
  for (unsigned l = 0; l < 32; ++l) {
    if (!(request.mask >> l & 1u)) continue;
    Thread* thread = first + l < block_threads_ ? &threads_[block_->first_thread + first + l] : nullptr;
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
      clocks_.synchronize(current_->warp);
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
      compute_stmatrix(lanes, request.detail >> 1, request.detail & 1u, *this);
      break;
    case WarpRequest::Kind::wgmma:
      compute_wide_rows(lanes);
      break;
    case WarpRequest::Kind::wgmma_wait:  // Their reading is over, for all lanes.
      clocks_.synchronize(current_->warp);
      break;
    case WarpRequest::Kind::registers:
    case WarpRequest::Kind::cluster:
      break;
  }
  const unsigned first = current_->index & ~31u;
  for (unsigned l = 32; l-- > 0;) {
    if (!lanes[l]) continue;
    Thread& thread = threads_[block_->first_thread + first + l];
    thread.request = nullptr;
    --block_->warps[current_->index / 32].waiting;
    if (thread.state == Thread::State::in_warp) {
      thread.state = Thread::State::ready;
      ready_.push_back(thread.number);
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
  ++block_->warps[self.index / 32].waiting;
  Lanes lanes;
  if (is_warp_ready(request, lanes)) {
    complete(request, lanes);
  } else {
    wait(Thread::State::in_warp);
  }
}

// A thread has ended: barriers that waited only for it are released.
void BlockRunner::recheck_waiters(Thread& done) {
  for (unsigned id = 0; id < block_->barriers.size(); ++id) {
    if (is_barrier_complete(*block_, id)) release_barrier(*block_, id);
  }
  end_cluster_barrier_if_complete();
  for (unsigned i = done.index / 32 * 32; i < done.index / 32 * 32 + 32 && i < block_threads_; ++i) {
    Thread& thread = threads_[block_->first_thread + i];
    Lanes lanes;
    if (thread.state != Thread::State::in_warp || !is_warp_ready(*thread.request, lanes)) continue;
    complete(*thread.request, lanes);
  }
}

}  // namespace gart_sim
