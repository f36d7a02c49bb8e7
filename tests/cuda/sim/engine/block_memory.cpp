// Accesses to memory by the threads of a block: bounds, races, asynchronous copies.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/cuda/sim/engine/block.h"

namespace gart_sim {
namespace {
constexpr unsigned char kPoison = 0xff;

std::string doing_of(Access access) {
  return access == Access::read ? "reads " : access == Access::write ? "writes " : "updates ";
}
std::string by(const char* doing) { return *doing ? std::string(" by ") + doing : ""; }
}  // namespace

bool BlockRunner::is_shared(uint64_t address, size_t bytes) const {
  const uint64_t dynamic = address - reinterpret_cast<uint64_t>(block_->dynamic),
                 fixed = address - state_->static_shared_begin;
  return (dynamic < launch_.shared_bytes && bytes <= launch_.shared_bytes - dynamic) ||
         (fixed < state_->static_shared_bytes && bytes <= state_->static_shared_bytes - fixed);
}

void BlockRunner::touch(uint64_t address, size_t bytes, Access access, const char* doing) {
  if (!launch_.module->is_watched) return;
  DeviceMemory& memory = DeviceMemory::get();
  if (memory.is_watched(address)) {
    if (state_->is_early) note_early(address, bytes, access);
    if (memory.touch(address, bytes, access, *state_)) return;
    fault(Finding::out_of_bounds, 700,
          doing_of(access) + std::to_string(bytes) + " bytes" + by(doing) + ", " + memory.describe(address));
  }
  if (is_shared(address, bytes)) {
    const uint64_t dynamic = address - reinterpret_cast<uint64_t>(block_->dynamic);
    const bool is_dynamic = dynamic < launch_.shared_bytes;
    touch_shared(*block_, is_dynamic ? dynamic : launch_.shared_bytes + (address - state_->static_shared_begin), bytes,
                 access, doing);
    return;
  }
  const auto offset = static_cast<int64_t>(address - reinterpret_cast<uint64_t>(block_->dynamic));
  fault(Finding::out_of_bounds, 700,
        doing_of(access) + std::to_string(bytes) + " bytes" + by(doing) + " at byte " + std::to_string(offset) +
            " of " + std::to_string(launch_.shared_bytes) + " bytes of shared memory");
}

void BlockRunner::grid_wait() {
  static const char* const is_ignored = getenv("GART_SIM_NO_WAIT");
  if (is_ignored != nullptr && *is_ignored == '1') return;
  current_->has_waited = true;
  state_->is_early = false;
}

void BlockRunner::note_early(uint64_t address, size_t bytes, Access access) {
  std::vector<Range>& ranges = early_[access != Access::read];
  if (!ranges.empty() && ranges.back().end == address) {
    ranges.back().end += bytes;
  } else {
    ranges.push_back({address, address + bytes});
  }
}

void BlockRunner::touch_as(unsigned lane, const void* address, size_t bytes, Access access, const char* doing) {
  Thread* const self = current_;
  current_ = &threads_[block_->first_thread + self->index / 32 * 32 + lane];
  touch(reinterpret_cast<uint64_t>(address), bytes, access, doing);
  current_ = self;
}

void BlockRunner::touch_pieces(Block& block, size_t offset, size_t bytes, Access access, const char* doing) {
  constexpr size_t kPiece = AsyncShadow::kPiece;
  for (size_t piece = offset / kPiece; piece <= (offset + bytes - 1) / kPiece; ++piece) {
    const AsyncShadow::State state = block.async.state(piece, current_->warp, access, clocks_);
    if (state == AsyncShadow::State::fine) continue;
    fault(Finding::async_copy, 719,
          std::string(*doing ? doing : "an access") + " to byte " + std::to_string(piece * kPiece) +
              " of shared memory, which a box " +
              (state == AsyncShadow::State::in_flight     ? "copy is writing"
               : state == AsyncShadow::State::not_awaited ? "copy has written to, with no wait for its phase"
                                                          : "store is reading"));
  }
}

void BlockRunner::touch_shared(Block& block, size_t offset, size_t bytes, Access access, const char* doing) {
  const bool is_dynamic = offset < launch_.shared_bytes;
  if (access != Access::read && is_dynamic) note_unfenced(offset, bytes);
  if (is_dynamic) touch_pieces(block, offset, bytes, access, doing);
  const SharedShadow::Race race =
      block.shadow.touch(offset, bytes, current_->warp, current_->index % 32, access, clocks_);
  if (!race.found || has_race_) return;
  has_race_ = true;
  if (!result_.error) result_.error = 719;
  const unsigned warp = race.other_warp, thread = warp % block_warps_ * 32 + race.other_lane;
  const std::string other = !race.is_lane_known  ? "several threads"
                            : cluster_size_ == 1 ? "thread " + std::to_string(thread)
                                                 : thread_name(threads_[warp / block_warps_ * block_threads_ + thread]);
  report(Finding::shared_race, std::string(launch_.kernel->name) + ", " + thread_name(*current_) + ": " +
                                   doing_of(access) + std::to_string(bytes) + " bytes" + by(doing) + " at byte " +
                                   std::to_string(is_dynamic ? offset : offset - launch_.shared_bytes) + " of " +
                                   (is_dynamic ? "dynamic" : "static") + " shared memory, which " + other +
                                   (race.other_wrote ? " wrote" : " read") + " with no barrier since");
}

void BlockRunner::copy_async(const AsyncCopy& copy, Site site) {
  const auto target = reinterpret_cast<uint64_t>(copy.target), source = reinterpret_cast<uint64_t>(copy.source);
  if (target % copy.bytes || (copy.source_bytes && source % copy.bytes)) {
    fault(
        Finding::misaligned, 716,
        "an asynchronous copy of " + std::to_string(copy.bytes) + " bytes between unaligned addresses at " + at(site));
  }
  if (copy.source_bytes > copy.bytes) {
    fault(Finding::async_copy, 719,
          "an asynchronous copy of " + std::to_string(copy.bytes) + " bytes reads " +
              std::to_string(static_cast<int>(copy.source_bytes)) + " at " + at(site));
  }
  if (!is_shared(target, copy.bytes)) {
    fault(Finding::out_of_bounds, 700, "the target of an asynchronous copy at " + at(site) + " is not shared memory");
  }
  touch(target, copy.bytes, Access::write, "an asynchronous copy");
  if (copy.source_bytes) touch(source, copy.source_bytes, Access::read, "an asynchronous copy");
  memset(copy.target, kPoison, copy.bytes);
  current_->copies.push_back(copy);
  ++current_->uncommitted;
}

void BlockRunner::copy_commit() {
  current_->committed.push_back(current_->uncommitted);
  current_->uncommitted = 0;
}

void BlockRunner::write_copy(const AsyncCopy& copy) {
  touch(reinterpret_cast<uint64_t>(copy.target), copy.bytes, Access::write, "an asynchronous copy");
  memcpy(copy.target, copy.source, copy.source_bytes);
  memset(copy.target + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
}

void BlockRunner::copy_wait(unsigned groups_left) {
  Thread& thread = *current_;
  size_t copies = 0, groups = 0;
  for (; thread.committed.size() - groups > groups_left; ++groups) copies += thread.committed[groups];
  for (size_t i = 0; i < copies; ++i) write_copy(thread.copies[i]);
  thread.copies.erase(thread.copies.begin(), thread.copies.begin() + static_cast<std::ptrdiff_t>(copies));
  thread.committed.erase(thread.committed.begin(), thread.committed.begin() + static_cast<std::ptrdiff_t>(groups));
}

}  // namespace gart_sim
