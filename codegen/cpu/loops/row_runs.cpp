#include "codegen/cpu/loops/row_runs.h"

#include <algorithm>

#include "codegen/cpu/loops/lane_cost.h"

namespace gcg::cpu {

bool runs_along(const Stage& store, const Axis& lane, bool interleaves, std::vector<Axis>& outer) {
  constexpr int64_t kShortRow = 128;  // bytes
  constexpr int64_t kShortRun = 8;    // points
  constexpr size_t kFewAxes = 3;      // with fewer axes, the addresses of a row of known length cost little
  if (lane.id < 0 || outer.empty()) return false;
  if (lane.extent.is_constant()) {
    const int64_t bytes = lane.extent.constant() * lane_bytes(store);
    if (bytes > kShortRow || interleaves || outer.size() < kFewAxes) return false;
  }
  const auto is_short = [](const Axis& a) { return a.extent.is_constant() && a.extent.constant() < kShortRun; };
  const auto last = std::find_if_not(outer.rbegin(), outer.rend(), is_short);
  if (last == outer.rend()) return !lane.extent.is_constant();
  std::rotate(last.base() - 1, last.base(), outer.end());
  return true;
}

}  // namespace gcg::cpu
