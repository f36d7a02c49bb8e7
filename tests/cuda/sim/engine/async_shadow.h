// Who may touch what box copies write. Warps, and the unit that copies, have vector clocks: what one has done is known
// to another once a barrier lies between. Of every 16 bytes of dynamic shared memory: when the last copy to them came
// to its end, and when each warp last touched them.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_ASYNC_SHADOW_H
#define GART_TESTS_CUDA_SIM_ENGINE_ASYNC_SHADOW_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gart_sim {

class AsyncShadow {
 public:
  static constexpr unsigned kWarps = 32;
  using Clocks = std::array<uint32_t, kWarps + 1>;  // The last one: the unit's.

  // A block begins: nothing is copied yet.
  void reset() { is_active_ = false; }
  // The block has a barrier that copies can signal: from here on everything is noted.
  void activate(size_t shared_bytes);
  [[nodiscard]] bool is_active() const { return is_active_; }

  // What the warp has done so far is known to who takes `to`.
  void release(unsigned warp, Clocks& to);
  void acquire(unsigned warp, const Clocks& from) { join(of_warp_[warp], from); }
  // A barrier of these warps.
  void barrier(uint32_t warps);
  [[nodiscard]] const Clocks& clocks(unsigned warp) const { return of_warp_[warp]; }

  enum class State { fine, in_flight, not_awaited };
  // A warp reads or writes piece number `piece`.
  State touch(unsigned warp, size_t piece);
  // Who may still be at the piece when a copy to it begins that `warp` asks for: a warp, kWarps for an earlier copy,
  // -1: nobody.
  [[nodiscard]] int unordered(unsigned warp, size_t piece) const;
  [[nodiscard]] bool is_in_flight(size_t piece) const { return pieces_[piece].in_flight; }
  void begin_copy(size_t piece) { pieces_[piece].in_flight = true; }
  void end_copy(size_t piece);
  // Copies have come to their end: known to who takes `to`.
  void release_copies(Clocks& to) { to[kWarps] = ++unit_; }

 private:
  struct Piece {
    bool in_flight = false;
    uint32_t landed = 0;  // Of the unit's clock.
    std::array<uint32_t, kWarps> touched = {};
  };
  static void join(Clocks& into, const Clocks& from);

  bool is_active_ = false;
  uint32_t unit_ = 0;
  std::array<Clocks, kWarps> of_warp_ = {};
  std::vector<Piece> pieces_;
};

}  // namespace gart_sim
#endif
