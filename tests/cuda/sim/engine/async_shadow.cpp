#include "tests/cuda/sim/engine/async_shadow.h"

#include <algorithm>

namespace gart_sim {

void AsyncShadow::join(Clocks& into, const Clocks& from) {
  for (size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

void AsyncShadow::activate(size_t shared_bytes) {
  if (is_active_) return;
  is_active_ = true;
  unit_ = 0;
  pieces_.assign((shared_bytes + 15) / 16, {});
  of_warp_ = {};
  for (unsigned warp = 0; warp < kWarps; ++warp) of_warp_[warp][warp] = 1;
}

void AsyncShadow::release(unsigned warp, Clocks& to) {
  join(to, of_warp_[warp]);
  ++of_warp_[warp][warp];
}

void AsyncShadow::barrier(uint32_t warps) {
  if (!is_active_) return;
  Clocks all = {};
  for (unsigned warp = 0; warp < kWarps; ++warp)
    if (warps >> warp & 1u) release(warp, all);
  for (unsigned warp = 0; warp < kWarps; ++warp)
    if (warps >> warp & 1u) acquire(warp, all);
}

AsyncShadow::State AsyncShadow::touch(unsigned warp, size_t piece) {
  Piece& p = pieces_[piece];
  if (p.in_flight) return State::in_flight;
  p.touched[warp] = of_warp_[warp][warp];
  return p.landed > of_warp_[warp][kWarps] ? State::not_awaited : State::fine;
}

int AsyncShadow::unordered(unsigned warp, size_t piece) const {
  if (pieces_[piece].landed > of_warp_[warp][kWarps]) return static_cast<int>(kWarps);
  for (unsigned other = 0; other < kWarps; ++other)
    if (other != warp && pieces_[piece].touched[other] > of_warp_[warp][other]) return static_cast<int>(other);
  return -1;
}

void AsyncShadow::end_copy(size_t piece) {
  pieces_[piece].in_flight = false;
  pieces_[piece].landed = unit_ + 1;  // release_copies() follows
}

}  // namespace gart_sim
