#include "tests/cuda/sim/engine/shared_shadow.h"

#include <algorithm>

namespace gart_sim {

void SharedShadow::reset(size_t bytes) {
  ++generation_;
  if (cells_.size() < bytes) cells_.resize(bytes);
  readers_.clear();
  unused_.clear();
}

SharedShadow::Cell& SharedShadow::cell(size_t i) {
  Cell& cell = cells_[i];
  if (cell.generation != generation_) {
    cell = {};
    cell.generation = generation_;
  }
  return cell;
}

void SharedShadow::forget(size_t offset, size_t bytes) {
  for (size_t i = offset; i < offset + bytes; ++i) {
    Cell& cell = this->cell(i);
    forget_reads(cell);
    cell.write = {};
  }
}

bool SharedShadow::is_ordered(const Mark& mark, unsigned warp, unsigned lane, const WarpClocks& clocks) {
  if (mark.time == 0 || mark.time <= clocks.known(warp, mark.warp)) return true;
  return mark.warp == warp && (mark.lane == lane || mark.round != clocks.round(warp));
}

SharedShadow::Race SharedShadow::race_with(const Mark& mark, bool wrote) {
  return {true, mark.warp, mark.lane, wrote, mark.lane != kManyLanes};
}

const SharedShadow::Mark* SharedShadow::unordered_read(const Cell& cell, unsigned warp, unsigned lane,
                                                       const WarpClocks& clocks) const {
  if (cell.readers == 0) return is_ordered(cell.read, warp, lane, clocks) ? nullptr : &cell.read;
  for (const Mark& mark : readers_[cell.readers - 1])
    if (!is_ordered(mark, warp, lane, clocks)) return &mark;
  return nullptr;
}

void SharedShadow::forget_reads(Cell& cell) {
  cell.read = {};
  if (cell.readers == 0) return;
  readers_[cell.readers - 1].clear();
  unused_.push_back(cell.readers);
  cell.readers = 0;
}

void SharedShadow::note_read(Cell& cell, unsigned warp, unsigned lane, const WarpClocks& clocks) {
  const Mark mine{clocks.now(warp), clocks.round(warp), static_cast<uint16_t>(warp), static_cast<uint8_t>(lane), false};
  const auto renew = [&](Mark& mark) {
    const bool same_round = mark.time == mine.time && mark.round == mine.round;
    const uint8_t lanes = same_round && mark.lane != mine.lane ? kManyLanes : mine.lane;
    mark = mine;
    mark.lane = lanes;
  };
  if (cell.readers == 0) {
    if (cell.read.time == 0 || cell.read.time <= clocks.known(warp, cell.read.warp)) {
      cell.read = mine;
      return;
    }
    if (cell.read.warp == warp) return renew(cell.read);
    if (unused_.empty()) {
      readers_.emplace_back();
      unused_.push_back(static_cast<uint32_t>(readers_.size()));
    }
    cell.readers = unused_.back();
    unused_.pop_back();
    readers_[cell.readers - 1].push_back(cell.read);
  }
  std::vector<Mark>& marks = readers_[cell.readers - 1];
  const auto own = std::find_if(marks.begin(), marks.end(), [&](const Mark& m) { return m.warp == warp; });
  if (own == marks.end()) {
    marks.push_back(mine);
  } else {
    renew(*own);
  }
}

SharedShadow::Race SharedShadow::touch(size_t offset, size_t bytes, unsigned warp, unsigned lane, Access access,
                                       const WarpClocks& clocks) {
  Race race;
  for (size_t i = offset; i < offset + bytes; ++i) {
    Cell& cell = this->cell(i);
    const bool both_atomic = access == Access::atomic && cell.write.is_atomic;
    if (!race.found && !both_atomic && !is_ordered(cell.write, warp, lane, clocks)) race = race_with(cell.write, true);
    if (access == Access::read) {
      note_read(cell, warp, lane, clocks);
      continue;
    }
    if (const Mark* read = race.found ? nullptr : unordered_read(cell, warp, lane, clocks))
      race = race_with(*read, false);
    forget_reads(cell);
    cell.write = {clocks.now(warp), clocks.round(warp), static_cast<uint16_t>(warp), static_cast<uint8_t>(lane),
                  access == Access::atomic};
  }
  return race;
}

SharedShadow::Race SharedShadow::unordered(size_t offset, size_t bytes, unsigned warp, const WarpClocks& clocks) const {
  constexpr unsigned kNoLane = 32;  // the copy unit is ordered after its warp's own accesses only if it knows of them
  const auto is_known = [&](const Mark& mark) { return mark.warp == warp || is_ordered(mark, warp, kNoLane, clocks); };
  for (size_t i = offset; i < offset + bytes; ++i) {
    const Cell& cell = cells_[i];
    if (cell.generation != generation_) continue;
    if (!is_known(cell.write)) return race_with(cell.write, true);
    if (cell.readers == 0 && !is_known(cell.read)) return race_with(cell.read, false);
    for (size_t k = 0; cell.readers != 0 && k < readers_[cell.readers - 1].size(); ++k)
      if (!is_known(readers_[cell.readers - 1][k])) return race_with(readers_[cell.readers - 1][k], false);
  }
  return {};
}

}  // namespace gart_sim
