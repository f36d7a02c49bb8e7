// Vector clocks: knowledge that the warps of a cluster have of each other. A warp's time advances when it arrives at a
// barrier and so tells others its work. The warps that wait there know its earlier work, and so do the warps to which
// they pass this knowledge. The unit that copies boxes has a time, too, which advances when copies have ended.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_CLOCKS_H
#define GART_TESTS_CUDA_SIM_ENGINE_CLOCKS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gart_sim {

// Indexed by warp, the copy unit last. Empty: nothing is known.
using Clocks = std::vector<uint32_t>;
void join(Clocks& into, const Clocks& from);

// Knowledge that an arrival at a barrier passes to the waiting warps: of memory accesses, and of the progress of other
// warps. Relaxed barriers pass only the progress.
struct Told {
  Clocks memory, run;
};

class WarpClocks {
 public:
  void reset(unsigned warps);
  [[nodiscard]] unsigned warps() const { return static_cast<unsigned>(of_warp_.size()); }

  // A warp that acquires `to` knows everything that `warp` has done so far.
  void release(unsigned warp, Clocks& to);
  void acquire(unsigned warp, const Clocks& from);
  // To be called when the warp's lanes have waited for each other.
  void synchronize(unsigned warp) { ++rounds_[warp]; }

  [[nodiscard]] uint32_t now(unsigned warp) const { return of_warp_[warp][warp]; }
  [[nodiscard]] uint32_t round(unsigned warp) const { return rounds_[warp]; }
  // The time of `other` before which `warp` knows all its work. For the warp itself: the time up to which its lanes
  // have told each other their work by a barrier in memory.
  [[nodiscard]] uint32_t known(unsigned warp, unsigned other) const {
    return warp == other ? told_itself_[warp] : of_warp_[warp][other];
  }
  [[nodiscard]] uint32_t unit_known(unsigned warp) const { return of_warp_[warp].back(); }
  [[nodiscard]] uint32_t unit_now() const { return unit_; }
  // To be called when copies have ended: a warp that acquires `to` knows that they have.
  void release_copies(Clocks& to);

 private:
  std::vector<Clocks> of_warp_;
  std::vector<uint32_t> rounds_, told_itself_;
  uint32_t unit_ = 0;
};

}  // namespace gart_sim
#endif
