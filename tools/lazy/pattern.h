// Which numbers of a cut are part of its program, and which may differ from run to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/lazy/cut.h"

namespace gcc_graph::lazy {

/// Which of a cut's extents, all of them in a row, are fixed, and which stand for symbols: those that were seen to
/// differ. Equal ones share a symbol.
struct Pattern {
  std::vector<int64_t> fixed;   // where symbol is -1
  std::vector<int32_t> symbol;  // or its number
  int32_t symbols = 0;

  static Pattern of(const std::vector<int64_t>& extents);
  /// With symbols where `extents` differs from what the pattern was made of.
  Pattern widened(const std::vector<int64_t>& made_of, const std::vector<int64_t>& extents) const;
  /// The symbols' values; false where the pattern does not fit.
  bool match(const std::vector<int64_t>& extents, std::vector<int64_t>& values) const;
};

std::vector<int64_t> flat_extents(const Cut& cut);
/// Where among these the extents of each position of the cut begin: a given value's, or a node's static operands.
std::vector<size_t> first_extents(const Cut& cut);

}  // namespace gcc_graph::lazy
