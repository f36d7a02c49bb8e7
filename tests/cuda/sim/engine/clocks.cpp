#include "tests/cuda/sim/engine/clocks.h"

#include <algorithm>

namespace gart_sim {

void join(Clocks& into, const Clocks& from) {
  if (into.size() < from.size()) into.resize(from.size(), 0);
  for (size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

void WarpClocks::reset(unsigned warps) {
  of_warp_.assign(warps, Clocks(warps + 1, 0));
  for (unsigned warp = 0; warp < warps; ++warp) of_warp_[warp][warp] = 1;
  rounds_.assign(warps, 0);
  told_itself_.assign(warps, 0);
  unit_ = 0;
}

void WarpClocks::release(unsigned warp, Clocks& to) {
  join(to, of_warp_[warp]);
  ++of_warp_[warp][warp];
}

void WarpClocks::acquire(unsigned warp, const Clocks& from) {
  if (from.empty()) return;
  told_itself_[warp] = std::max(told_itself_[warp], from[warp]);
  join(of_warp_[warp], from);
}

void WarpClocks::release_copies(Clocks& to) {
  to.resize(of_warp_.size() + 1, 0);
  to.back() = ++unit_;
}

}  // namespace gart_sim
