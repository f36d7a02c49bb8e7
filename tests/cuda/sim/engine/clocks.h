// The knowledge that warps of a cluster have of each other. A warp's time goes on when it tells others what it has done
// (it arrives at a barrier); what it did before is known to those who wait there, and to whom they tell it. The unit
// that copies boxes has a time, too: that of the last copy that has come to its end.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_CLOCKS_H
#define GART_TESTS_CUDA_SIM_ENGINE_CLOCKS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gart_sim {

// By warp, then the unit's. Empty: nothing is known.
using Clocks = std::vector<uint32_t>;
void join(Clocks& into, const Clocks& from);

// An arrival at a barrier tells those who wait there of accesses to memory, and of how far the others have come
// (relaxed barriers: only of that).
struct Told {
  Clocks memory, run;
};

class WarpClocks {
 public:
  void reset(unsigned warps);
  [[nodiscard]] unsigned warps() const { return static_cast<unsigned>(of_warp_.size()); }

  // Whichever warp acquires `to` knows all that this one has done so far.
  void release(unsigned warp, Clocks& to);
  void acquire(unsigned warp, const Clocks& from);
  // Its lanes have waited for each other.
  void synchronize(unsigned warp) { ++rounds_[warp]; }

  [[nodiscard]] uint32_t now(unsigned warp) const { return of_warp_[warp][warp]; }
  [[nodiscard]] uint32_t round(unsigned warp) const { return rounds_[warp]; }
  // `warp` knows all that `other` did before this time. For itself: all that its lanes have told each other by a
  // barrier in memory.
  [[nodiscard]] uint32_t known(unsigned warp, unsigned other) const {
    return warp == other ? told_itself_[warp] : of_warp_[warp][other];
  }
  [[nodiscard]] uint32_t unit_known(unsigned warp) const { return of_warp_[warp].back(); }
  [[nodiscard]] uint32_t unit_now() const { return unit_; }
  // Copies have come to their end: whichever warp acquires `to` knows it.
  void release_copies(Clocks& to);

 private:
  std::vector<Clocks> of_warp_;
  std::vector<uint32_t> rounds_, told_itself_;
  uint32_t unit_ = 0;
};

}  // namespace gart_sim
#endif
