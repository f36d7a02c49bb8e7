// Shadow state for box copies to and from shared memory. For every 16 bytes: whether a copy writes them, whether a
// store reads them, and when the last copy to them ended.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_ASYNC_SHADOW_H
#define GART_TESTS_CUDA_SIM_ENGINE_ASYNC_SHADOW_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/cuda/sim/engine/clocks.h"
#include "tests/cuda/sim/shim/module_abi.h"

namespace gart_sim {

class AsyncShadow {
 public:
  static constexpr size_t kPiece = 16;

  // Resets the state at the start of a block: no copies.
  void reset(size_t shared_bytes) { pieces_.assign((shared_bytes + kPiece - 1) / kPiece, {}); }

  enum class State { fine, in_flight, not_awaited, stored };
  // The state of piece number `piece` for a warp that touches it.
  [[nodiscard]] State state(size_t piece, unsigned warp, Access access, const WarpClocks& clocks) const;
  void begin_copy(size_t piece) { pieces_[piece].in_flight = true; }
  // The caller must then call release_copies() of the clocks.
  void end_copy(size_t piece, const WarpClocks& clocks);
  void begin_store(size_t piece) { ++pieces_[piece].stores; }
  void end_store(size_t piece) { --pieces_[piece].stores; }

 private:
  struct Piece {
    uint32_t landed = 0;  // when the last copy ended, in the copy unit's time
    uint16_t stores = 0;
    bool in_flight = false;
  };
  std::vector<Piece> pieces_;
};

}  // namespace gart_sim
#endif
