#include "tools/lazy/block_pool.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <deque>
#include <mutex>

namespace gcc_graph::lazy {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kLeastKept = uint64_t{32} << 10;  // the allocator's own lists serve smaller blocks
constexpr uint64_t kMostKept = uint64_t{64} << 20;   // limit for the bytes of all kept blocks

/// The capacity allocated for a request. For blocks that the pool keeps, it is up to an eighth larger, so that values
/// of similar size can reuse a block.
uint64_t capacity_of(int64_t bytes) {
  const auto needed = static_cast<uint64_t>(bytes);
  const uint64_t step = needed < kLeastKept ? kAlignment : std::bit_floor(needed) / 8;
  return (needed / step + 1) * step;
}

struct Pool {
  struct Block {
    void* data;
    uint64_t capacity;
  };
  std::mutex mutex;
  std::deque<Block> blocks;  // the block that was returned last is at the back
  uint64_t bytes = 0;
};

/// Never destroyed, because values may outlive static objects.
Pool& pool() {
  static auto* all = new Pool;
  return *all;
}

void* kept_block(uint64_t capacity) {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  const auto last =
      std::find_if(p.blocks.rbegin(), p.blocks.rend(), [&](const auto& b) { return b.capacity == capacity; });
  if (last == p.blocks.rend()) return nullptr;
  void* block = last->data;
  p.bytes -= capacity;
  p.blocks.erase(std::next(last).base());
  return block;
}

}  // namespace

void* take_block(int64_t bytes) {
  const uint64_t capacity = capacity_of(bytes);
  if (capacity >= kLeastKept)
    if (void* kept = kept_block(capacity)) return kept;
  if (void* block = std::aligned_alloc(kAlignment, capacity)) return block;
  drop_blocks();
  return std::aligned_alloc(kAlignment, capacity);
}

void give_block(void* block, int64_t bytes) {
  const uint64_t capacity = capacity_of(bytes);
  if (capacity < kLeastKept || capacity > kMostKept) return std::free(block);
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  p.blocks.push_back({block, capacity});
  p.bytes += capacity;
  while (p.bytes > kMostKept) {
    p.bytes -= p.blocks.front().capacity;
    std::free(p.blocks.front().data);
    p.blocks.pop_front();
  }
}

void drop_blocks() {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  for (const Pool::Block& b : p.blocks) std::free(b.data);
  p.blocks.clear();
  p.bytes = 0;
}

}  // namespace gcc_graph::lazy
