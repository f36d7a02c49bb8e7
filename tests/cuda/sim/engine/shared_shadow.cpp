#include "tests/cuda/sim/engine/shared_shadow.h"

namespace gart_sim {

// Does an access of `thread` race with the cell's last write?
bool SharedShadow::write_races(const Cell& cell, unsigned thread) const {
  if (cell.write_phase != phase_ || cell.writer == thread) return false;
  return cell.writer / 32 != thread / 32 || cell.write_warp_phase == warp_phase_[thread / 32];
}

// Does a write of `thread` race with the cell's reads?
bool SharedShadow::read_races(const Cell& cell, unsigned thread) const {
  if (cell.read_phase != phase_) return false;
  if (cell.reader_warp != thread / 32) return true;
  return cell.read_warp_phase == warp_phase_[thread / 32] && cell.reader_lane != thread % 32;
}

void SharedShadow::note_read(Cell& cell, unsigned thread) const {
  const auto warp = static_cast<uint16_t>(thread / 32), lane = static_cast<uint16_t>(thread % 32);
  if (cell.read_phase != phase_) {
    cell.read_phase = phase_;
    cell.reader_warp = warp;
    cell.reader_lane = lane;
  } else if (cell.reader_warp != warp) {
    cell.reader_warp = kMany;
    return;
  } else if (cell.read_warp_phase != warp_phase_[warp]) {
    cell.reader_lane = lane;
  } else if (cell.reader_lane != lane) {
    cell.reader_lane = kMany;
  }
  cell.read_warp_phase = warp_phase_[warp];
}

SharedShadow::Race SharedShadow::touch(size_t offset, size_t bytes, unsigned thread, Access access) {
  Race race;
  for (size_t i = offset; i < offset + bytes; ++i) {
    Cell& cell = cells_[i];
    const bool both_atomic = access == Access::atomic && cell.is_atomic;
    if (!race.found && !both_atomic && write_races(cell, thread)) race = {true, cell.writer, true, true};
    if (access == Access::read) {
      note_read(cell, thread);
      continue;
    }
    if (!race.found && read_races(cell, thread)) {
      const bool known = cell.reader_warp != kMany && cell.reader_lane != kMany;
      race = {true, known ? cell.reader_warp * 32u + cell.reader_lane : 0u, false, known};
    }
    cell.write_phase = phase_;
    cell.write_warp_phase = warp_phase_[thread / 32];
    cell.writer = static_cast<uint16_t>(thread);
    cell.is_atomic = access == Access::atomic;
  }
  return race;
}

}  // namespace gart_sim
