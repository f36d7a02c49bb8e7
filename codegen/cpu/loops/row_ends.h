// How the ends of a row, and middles shorter than a register, are stored. See row_interior.h.
#pragma once

#include <vector>

#include "codegen/cpu/loops/row_interior.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

struct RowEnds {
  /// Vectors of elements outside the middle would need gathers, so these elements are stored one by one.
  bool apart = false;
  /// The same for an end that fits in one register, because only a run would know the lanes.
  bool front_one_by_one = false, back_one_by_one = false;
  /// For rows whose middle turns out to be shorter than a register: numbers of lanes, falling. The middle takes the
  /// first that fits.
  std::vector<int> fewer_lanes;
  /// The values of elements that are stored one by one, if they read their positions from tables (axis_tables.h).
  /// Empty: there are no tables.
  std::vector<Expr> tabulated;
  /// An entry of a table is an element's coordinate minus the coordinate of this axis, which is the length of the
  /// middle for elements behind it.
  Axis skipped;
};

/// `lanes`: lanes of a register. `gathers`: vectors of the general value need gathers.
RowEnds plan_ends(const Stage& store, const RowInterior& interior, int lanes, bool gathers);

/// The fewest elements of a middle that are stored in vectors of `lanes` or fewer lanes.
int fewest_in_vectors(const RowEnds& ends, int lanes);

}  // namespace gcg::cpu
