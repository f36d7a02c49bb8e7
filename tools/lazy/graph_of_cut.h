// A cut as a graph for the compiler.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"
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

/// What a graph that is to be saved calls its inputs and results; given values that are no inputs are constants there.
struct Naming {
  std::span<Node* const> inputs;
  std::vector<std::string> input_names, output_names;  // "in0", "out0" where they are too few
};

/// Inputs are the given values in their order, then one u8[s] for each symbol s of the pattern, which says its value by
/// its extent; outputs are the results. With `naming`: the inputs that it says, in their order.
gcg::Graph graph_of_cut(const Cut& cut, const Pattern& pattern, const Naming* naming = nullptr);

/// The graph from `inputs` to `wanted`; under the tape that these were recorded under.
gcg::Graph graph_to_save(std::span<Node* const> wanted, std::span<Node* const> inputs, const SaveOptions& options);

}  // namespace gcc_graph::lazy
