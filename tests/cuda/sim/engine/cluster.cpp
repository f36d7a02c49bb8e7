// Clusters: their barrier, and shared memory that another block's threads touch. PTX ISA, "barrier.cluster", "mapa",
// and CUDA C++ Programming Guide, "Distributed Shared Memory": a block must not have ended while others touch its
// memory.
#include <algorithm>
#include <cstring>

#include "tests/cuda/sim/engine/block.h"

namespace gart_sim {
namespace {
constexpr unsigned kRankShift = 24;  // the shim's address format
}

void BlockRunner::cluster_arrive(bool relaxed, Site site) {
  Thread& self = *current_;
  if (self.has_arrived)
    fault(Finding::divergence, 719, "a thread arrives at its cluster's barrier a second time at " + at(site));
  self.has_arrived = true;
  self.awaited_cluster = cluster_barrier_.phase;
  ++cluster_barrier_.came;
  tell(cluster_barrier_.told, relaxed);
  end_cluster_barrier_if_complete();
}

void BlockRunner::cluster_wait(Site site) {
  Thread& self = *current_;
  if (!self.has_arrived)
    fault(Finding::divergence, 719, "a thread waits at its cluster's barrier where it has not arrived at " + at(site));
  self.site = site;
  if (self.awaited_cluster == cluster_barrier_.phase) wait(Thread::State::in_cluster);
  self.has_arrived = false;
  learn(self.warp, cluster_barrier_.known);
}

// Lets the waiting threads continue if all live threads of the cluster have arrived.
void BlockRunner::end_cluster_barrier_if_complete() {
  ClusterBarrier& barrier = cluster_barrier_;
  if (barrier.came == 0) return;
  size_t expected = threads_.size();
  for (const Block& block : blocks_) expected -= block.done;
  // some ended threads may have arrived before
  for (const Thread& thread : threads_) expected += thread.state == Thread::State::done && thread.has_arrived;
  if (barrier.came < expected) return;
  barrier.known = std::move(barrier.told);
  barrier.told = {};
  barrier.came = 0;
  ++barrier.phase;
  const size_t first = ready_.size();
  for (const unsigned number : order_) {
    Thread& thread = threads_[number];
    if (thread.state == Thread::State::done) thread.has_arrived = false;
    if (thread.state != Thread::State::in_cluster) continue;
    thread.state = Thread::State::ready;
    ready_.push_back(number);
  }
  if (launch_.seed > 1) std::shuffle(ready_.begin() + static_cast<std::ptrdiff_t>(first), ready_.end(), random_);
}

// The block of this rank, whose shared memory the current thread is about to touch.
Block& BlockRunner::visit(unsigned rank, Site site) {
  if (rank >= cluster_size_)
    fault(Finding::out_of_bounds, 700,
          "block " + std::to_string(rank) + " of a cluster of " + std::to_string(cluster_size_) + " at " + at(site));
  Block& block = blocks_[rank];
  if (&block == block_) return block;
  if (block.done == block_threads_)
    fault(Finding::out_of_bounds, 700,
          "shared memory of block " + std::to_string(block.place.x) + ", which has ended, at " + at(site));
  block.visits[current_->warp] = {run_clocks_.now(current_->warp), site};
  return block;
}

// When the block ends, one of its threads must know that all visits are over. Otherwise the block might have ended
// before them.
void BlockRunner::check_exit(Block& block) {
  for (const auto& [offset, barrier] : block.phase_barriers)
    if (!barrier.copies.empty())
      fault(Finding::async_copy, 719,
            "the block ends while box copies to it are under way: their barrier at byte " + std::to_string(offset) +
                " lacks " + std::to_string(barrier.pending) + " arrivals and " +
                std::to_string(barrier.announced - barrier.copied) + " bytes");
  for (const auto& [warp, visit] : block.visits) {
    uint32_t known = 0;
    for (unsigned own = block.first_warp; own < block.first_warp + block_warps_; ++own)
      known = std::max(known, run_clocks_.known(own, warp));
    if (known < visit.time)
      fault(Finding::shared_race, 719,
            "the block may end before " + warp_name(warp) + " has touched its shared memory at " + at(visit.site));
  }
}

void BlockRunner::load_in_cluster(unsigned address, void* out, unsigned bytes, Site site) {
  const size_t offset = address & ((1u << kRankShift) - 1);
  if (address >> kRankShift == 0)
    fault(Finding::out_of_bounds, 700, "an address that is none of a cluster's shared memory at " + at(site));
  Block& block = visit((address >> kRankShift) - 1, site);
  if (offset % bytes) fault(Finding::misaligned, 716, "an unaligned load in the cluster at " + at(site));
  if (offset + bytes > launch_.shared_bytes)
    fault(Finding::out_of_bounds, 700,
          "byte " + std::to_string(offset) + " of " + std::to_string(launch_.shared_bytes) +
              " bytes of another block's shared memory at " + at(site));
  touch_shared(block, offset, bytes, Access::read, "a load in the cluster");
  memcpy(out, block.dynamic + offset, bytes);
}

}  // namespace gart_sim
