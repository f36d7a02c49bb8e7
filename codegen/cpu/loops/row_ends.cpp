#include "codegen/cpu/loops/row_ends.h"

#include <algorithm>

#include "compiler/kernel/access_analysis.h"

namespace gcg::cpu {
namespace {

constexpr int kFewestLanes = 4;
constexpr int kFewer = 4;  // a register of 4 times as many lanes takes the row in at most 4 steps

}  // namespace

RowEnds plan_ends(const Stage& store, const RowInterior& interior, int lanes, bool gathers) {
  const bool moves = gathers && !has_reduction(store.value);
  RowEnds ends;
  ends.apart = gathers;
  ends.front_one_by_one = interior.front_unknown && (moves || has_short_front(interior));
  ends.back_one_by_one = interior.back_unknown && (moves || has_short_back(interior));
  if (!moves || interior.axis.extent.is_constant()) return ends;
  while (lanes > kFewestLanes) ends.fewer_lanes.push_back(lanes = std::max(lanes / kFewer, kFewestLanes));
  return ends;
}

int fewest_in_vectors(const RowEnds& ends, int lanes) {
  return ends.fewer_lanes.empty() ? lanes : ends.fewer_lanes.back();
}

}  // namespace gcg::cpu
