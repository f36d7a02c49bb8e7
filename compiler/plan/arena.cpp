// Dynamic storage allocation with known lifetimes. Greedy placement puts each block at the lowest offset that its
// conflicts leave free. The result depends only on the order of the blocks, so the search tries orders. It starts with
// a few good ones, then moves the blocks at the top of the arena forward. It ends when the arena reaches its lower
// bound or the budget is spent.
#include "compiler/plan/arena.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "compiler/support/error.h"

namespace gcg {
namespace {

int64_t align_up(int64_t v, int64_t a) { return (v + a - 1) / a * a; }

class Packer {
 public:
  Packer(const std::vector<ArenaBlock>& blocks, int64_t alignment) : blocks_(blocks), alignment_(alignment) {
    for (const ArenaBlock& b : blocks) sizes_.push_back(align_up(b.size, alignment));
  }

  ArenaLayout run() {
    best_.lower_bound = lower_bound();
    best_.bytes = -1;
    for (int criterion = 0; criterion < 4; ++criterion) {
      std::vector<int> order = initial(criterion);
      try_order(order);
      improve(std::move(order));
    }
    return best_;
  }

 private:
  int64_t lower_bound() const {
    std::map<int, int64_t> change;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      change[blocks_[i].first] += sizes_[i];
      change[blocks_[i].last + 1] -= sizes_[i];
    }
    int64_t live = 0, most = 0;
    for (const auto& [step, delta] : change) most = std::max(most, live += delta);
    return most;
  }

  std::vector<int> initial(int criterion) const {
    std::vector<int> order(blocks_.size());
    std::iota(order.begin(), order.end(), 0);
    auto weight = [&](int i) -> std::pair<int64_t, int64_t> {
      const ArenaBlock& b = blocks_[static_cast<size_t>(i)];
      const int64_t size = sizes_[static_cast<size_t>(i)], life = b.last - b.first + 1;
      switch (criterion) {
        case 0:
          return {size, life};
        case 1:
          return {size * life, size};
        case 2:
          return {-b.first, size};
        default:
          return {life, size};
      }
    };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return weight(a) > weight(b); });
    return order;
  }

  /// Places the blocks in this order. Returns the arena's size, and keeps the layout if it is the best so far.
  int64_t try_order(const std::vector<int>& order) {
    std::vector<int64_t> offsets(blocks_.size(), -1);
    int64_t top = 0;
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (int i : order) {
      taken.clear();
      for (int c : blocks_[static_cast<size_t>(i)].conflicts)
        if (offsets[static_cast<size_t>(c)] >= 0 && sizes_[static_cast<size_t>(c)] > 0)
          taken.emplace_back(offsets[static_cast<size_t>(c)],
                             offsets[static_cast<size_t>(c)] + sizes_[static_cast<size_t>(c)]);
      std::sort(taken.begin(), taken.end());
      int64_t at = 0;
      for (const auto& [begin, end] : taken) {
        if (at + sizes_[static_cast<size_t>(i)] <= begin) break;
        at = std::max(at, end);
      }
      offsets[static_cast<size_t>(i)] = at;
      top = std::max(top, at + sizes_[static_cast<size_t>(i)]);
    }
    last_offsets_ = offsets;
    if (best_.bytes < 0 || top < best_.bytes) {
      best_.bytes = top;
      best_.offsets = std::move(offsets);
    }
    return top;
  }

  void improve(std::vector<int> order) {
    const int rounds = blocks_.size() > 2000 ? 8 : 64;
    int64_t size = try_order(order);
    uint64_t random = 0x9e3779b97f4a7c15u;
    for (int r = 0; r < rounds && best_.bytes > best_.lower_bound; ++r) {
      std::vector<int> next = order;
      // Moves one of the blocks that end at the top of the arena towards the front of the order.
      for (size_t k = 0; k < next.size(); ++k) {
        const auto i = static_cast<size_t>(next[k]);
        if (last_offsets_[i] + sizes_[i] < size) continue;
        random = random * 6364136223846793005u + 1442695040888963407u;
        const size_t to = r % 2 == 0 ? 0 : (random >> 33) % (k + 1);
        std::rotate(next.begin() + static_cast<int64_t>(to), next.begin() + static_cast<int64_t>(k),
                    next.begin() + static_cast<int64_t>(k) + 1);
        break;
      }
      const int64_t s = try_order(next);
      if (s <= size) {
        size = s;
        order = std::move(next);
      } else {
        try_order(order);  // restores last_offsets_
      }
    }
  }

  const std::vector<ArenaBlock>& blocks_;
  int64_t alignment_;
  std::vector<int64_t> sizes_, last_offsets_;
  ArenaLayout best_;
};

}  // namespace

ArenaLayout plan_arena(const std::vector<ArenaBlock>& blocks, int64_t alignment) {
  ArenaLayout layout = Packer(blocks, alignment).run();
  verify_arena(blocks, layout);
  return layout;
}

void verify_arena(const std::vector<ArenaBlock>& blocks, const ArenaLayout& layout) {
  GCG_CHECK(layout.offsets.size() == blocks.size(), "an offset per block");
  for (size_t i = 0; i < blocks.size(); ++i) {
    const int64_t begin = layout.offsets[i], end = begin + blocks[i].size;
    GCG_CHECK(begin >= 0 && end <= layout.bytes, "block ", i, " lies outside the arena");
    for (int c : blocks[i].conflicts) {
      const auto j = static_cast<size_t>(c);
      const int64_t b = layout.offsets[j], e = b + blocks[j].size;
      GCG_CHECK(end <= b || e <= begin || blocks[i].size == 0 || blocks[j].size == 0, "blocks ", i, " and ", j,
                " overlap while both are live");
    }
  }
}

}  // namespace gcg
