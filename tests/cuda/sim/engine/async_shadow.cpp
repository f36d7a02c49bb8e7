#include "tests/cuda/sim/engine/async_shadow.h"

namespace gart_sim {

AsyncShadow::State AsyncShadow::state(size_t piece, unsigned warp, Access access, const WarpClocks& clocks) const {
  const Piece& p = pieces_[piece];
  if (p.in_flight) return State::in_flight;
  if (p.landed > clocks.unit_known(warp)) return State::not_awaited;
  return p.stores > 0 && access != Access::read ? State::stored : State::fine;
}

void AsyncShadow::end_copy(size_t piece, const WarpClocks& clocks) {
  pieces_[piece].in_flight = false;
  pieces_[piece].landed = clocks.unit_now() + 1;
}

}  // namespace gart_sim
