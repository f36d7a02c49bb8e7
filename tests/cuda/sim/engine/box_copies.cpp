// Copies of tensor boxes to shared memory: TMA of sm_90. The rules are those of the PTX ISA: "Swizzling modes" and
// "Tensor copies" (cp.async.bulk.tensor, its im2col mode and multicast), "Async proxy" (fence.proxy.async before a
// barrier or a tile is used).
#include <algorithm>
#include <cstring>

#include "tests/cuda/sim/engine/block.h"
#include "tests/cuda/sim/engine/box_lines.h"

namespace gart_sim {
namespace {
constexpr unsigned char kPoison = 0xff;
constexpr size_t kPiece = AsyncShadow::kPiece;
}  // namespace

// The offset of `shared` in the dynamic shared memory of the current thread's block.
size_t BlockRunner::offset_of(const void* shared) const {
  return static_cast<size_t>(static_cast<const unsigned char*>(shared) - block_->dynamic);
}

BoxCopy BlockRunner::decode(const BoxCall& call, const char* doing, Site site) {
  const std::string where = " at " + at(site);
  BoxCopy copy;
  if (reinterpret_cast<uint64_t>(call.map) % 64)
    fault(Finding::misaligned, 716, "a tensor map that is not 64-aligned" + where);
  if (!copy.map.decode(call.map))
    fault(Finding::async_copy, 719, std::string(doing) + " by what is no tensor map" + where);
  if (copy.map.rank != call.rank) {
    fault(Finding::async_copy, 719,
          std::to_string(call.rank) + " coordinates for a map of " + std::to_string(copy.map.rank) + " dimensions" +
              where);
  }
  if (copy.map.is_im2col != (call.offsets != nullptr))
    fault(Finding::async_copy, 719,
          std::string(doing) +
              (copy.map.is_im2col ? " as of no images by a map of images" : " of pixels by a map of no images") +
              where);
  copy.target = offset_of(call.shared);
  copy.at = {};
  std::copy(call.at, call.at + call.rank, copy.at.begin());
  const int beyond = call.rank == 3 ? 1 << 16 : call.rank == 4 ? 1 << 8 : 1 << 5;
  for (unsigned d = 0; call.offsets != nullptr && d + 2 < call.rank; ++d) {
    if (call.offsets[d] < 0 || call.offsets[d] >= beyond)
      fault(Finding::async_copy, 719, "an offset of " + std::to_string(call.offsets[d]) + " pixels" + where);
    copy.offsets[d] = static_cast<unsigned>(call.offsets[d]);
  }
  const unsigned bytes = copy.map.box_bytes(), alignment = copy.map.swizzle ? 8 * copy.map.swizzle : 128;
  if (copy.target > launch_.shared_bytes || bytes > launch_.shared_bytes - copy.target)
    fault(Finding::out_of_bounds, 700, "the shared side of " + std::string(doing) + " is not shared memory" + where);
  if (copy.target % alignment)
    fault(Finding::misaligned, 716,
          "the shared side of " + std::string(doing) + " is byte " + std::to_string(copy.target) +
              ", not a multiple of " + std::to_string(alignment) + where);
  return copy;
}

// No thread may be using the bytes that the copy overwrites.
void BlockRunner::check_target(Block& block, const BoxCopy& copy, const std::string& where) {
  const size_t end = copy.target + copy.map.box_bytes();
  for (size_t piece = copy.target / kPiece; piece < end / kPiece; ++piece) {
    const std::string byte = " byte " + std::to_string(piece * kPiece) + " of shared memory";
    switch (block.async.state(piece, current_->warp, Access::write, clocks_)) {
      case AsyncShadow::State::in_flight:
        fault(Finding::async_copy, 719, "two box copies to" + byte + " at a time" + where);
      case AsyncShadow::State::stored:
        fault(Finding::async_copy, 719, "a box copy overwrites" + byte + ", which a box store is reading" + where);
      case AsyncShadow::State::not_awaited:
        fault(Finding::shared_race, 719,
              "a box copy overwrites" + byte + ", which another one may still be at" + where);
      case AsyncShadow::State::fine:
        break;
    }
    const SharedShadow::Race race = block.shadow.unordered(piece * kPiece, kPiece, current_->warp, clocks_);
    if (race.found)
      fault(Finding::shared_race, 719,
            "a box copy overwrites" + byte + ", which " + warp_name(race.other_warp) + " may still be at" + where);
    if (block.unfenced_writer[piece] != 0) {
      fault(Finding::async_copy, 719,
            "a box copy overwrites" + byte + ", which " +
                thread_name(threads_[block.first_thread + block.unfenced_writer[piece] - 1]) +
                " wrote with no proxy fence since" + where);
    }
  }
}

// Starts the copy to one of the cluster's blocks. The copy counts for that block's barrier at the same offset.
void BlockRunner::copy_to(Block& block, const BoxCopy& copy, size_t place, bool is_remote, Site site) {
  const std::string where = " at " + at(site);
  const unsigned bytes = copy.map.box_bytes();
  PhaseBarrier& barrier = phase_barrier(block, place, site);
  if (block.unfenced_writer[place / kPiece] != 0)
    fault(Finding::async_copy, 719, "a box copy to a barrier that was made with no proxy fence since," + where);
  // Bytes that another block copies may arrive before the block's own threads have announced them.
  if (!is_remote && barrier.copied + bytes > barrier.announced) {
    fault(Finding::async_copy, 719,
          "a box copy of " + std::to_string(bytes) + " bytes whose barrier expects " +
              std::to_string(barrier.announced - barrier.copied) + " more" + where);
  }
  check_target(block, copy, where);
  if (is_remote) run_clocks_.release(current_->warp, barrier.arrived.run);
  memset(block.dynamic + copy.target, kPoison, bytes);
  for (size_t piece = copy.target / kPiece; piece < (copy.target + bytes) / kPiece; ++piece)
    block.async.begin_copy(piece);
  barrier.copied += bytes;
  barrier.copies.push_back(copy);
  end_phase_if_complete(block, barrier);
}

void BlockRunner::copy_box(const BoxCall& call, Site site) {
  const BoxCopy copy = decode(call, "a box copy", site);
  touch_tensor(copy, Access::read, "a box copy");
  const size_t place = offset_of(call.barrier);
  if (call.blocks == 0) return copy_to(*block_, copy, place, false, site);
  for (unsigned rank = 0; rank < 32; ++rank) {
    if (!(call.blocks >> rank & 1u)) continue;
    Block& block = visit(rank, site);
    copy_to(block, copy, place, true, site);
  }
}

void BlockRunner::touch_tensor(const BoxCopy& copy, Access access, const char* doing) {
  each_line(copy, [&](size_t, const auto& at) {
    if (const LinePart part = inside(copy.map, at); part.bytes > 0) touch(part.address, part.bytes, access, doing);
  });
}

void BlockRunner::land(Block& block, const BoxCopy& copy) {
  const unsigned line_bytes = copy.map.line_bytes();
  std::vector<unsigned char> line(line_bytes);
  each_line(copy, [&](size_t offset, const auto& at) {
    const LinePart part = inside(copy.map, at);
    std::fill(line.begin(), line.end(), static_cast<unsigned char>(0));
    if (part.bytes > 0) memcpy(line.data() + part.first, reinterpret_cast<const void*>(part.address), part.bytes);
    for (size_t i = 0; i < line_bytes; i += kPiece)
      memcpy(block.dynamic + swizzled(copy.target, offset + i, copy.map.swizzle), line.data() + i, kPiece);
  });
  const unsigned bytes = copy.map.box_bytes();
  for (size_t piece = copy.target / kPiece; piece < (copy.target + bytes) / kPiece; ++piece)
    block.async.end_copy(piece, clocks_);
  block.shadow.forget(copy.target, bytes);
}

}  // namespace gart_sim
