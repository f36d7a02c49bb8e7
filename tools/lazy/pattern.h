// Decides which numbers of a cut belong to its program, and which may differ from run to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/lazy/cut.h"

namespace gcc_graph::lazy {

/// Divides the list of a cut's extents into fixed extents and symbols. An extent becomes a symbol once it differs
/// between two cuts. Equal extents share a symbol.
struct Pattern {
  std::vector<int64_t> fixed;   // the extent, if symbol is -1
  std::vector<int32_t> symbol;  // -1, or the symbol's number
  int32_t symbols = 0;

  static Pattern of(const std::vector<int64_t>& extents);
  /// Makes symbols of the extents that differ between `made_of`, the extents of the first cut, and `extents`.
  Pattern widened(const std::vector<int64_t>& made_of, const std::vector<int64_t>& extents) const;
  /// Sets the symbols' values. Returns false if the pattern does not fit.
  bool match(const std::vector<int64_t>& extents, std::vector<int64_t>& values) const;
};

std::vector<int64_t> flat_extents(const Cut& cut);
/// For each position of the cut, the index in flat_extents() at which its extents start. These are extents of an
/// evaluated value, or a node's static operands.
std::vector<size_t> first_extents(const Cut& cut);

}  // namespace gcc_graph::lazy
