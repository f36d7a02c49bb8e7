// A cut as a graph for the compiler.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "tools/lazy/cut.h"
#include "tools/lazy/pattern.h"
#include "tools/lazy/weights.h"

namespace gcc_graph::lazy {

/// What a graph that is to be saved calls its inputs and results; given values that are no inputs are constants there.
struct Naming {
  std::span<Node* const> inputs;
  std::vector<std::string> input_names, output_names;  // "in0", "out0" where they are too few
  /// Those that are no inputs become inputs all the same, and this says what they are (CompileOptions::parameters).
  std::map<std::string, gcg::TensorRef>* parameters = nullptr;
};

/// Inputs are the given values in their order, then one u8[s] for each symbol s of the pattern, which says its value by
/// its extent, then the panels of `packed`, which products read in place of the matrices; outputs are the results. With
/// `naming`: the inputs that it says, in their order.
gcg::Graph graph_of_cut(const Cut& cut, const Pattern& pattern, const Naming* naming = nullptr,
                        std::span<const Weight> packed = {});

/// The graph from `inputs` to `wanted`; under the tape that these were recorded under. `parameters`: as of Naming.
gcg::Graph graph_to_save(std::span<Node* const> wanted, std::span<Node* const> inputs, const SaveOptions& options,
                         std::map<std::string, gcg::TensorRef>* parameters);

/// What no input decides of that graph, and its other nodes read: to be computed before it is saved.
std::vector<Node*> fixed_values(std::span<Node* const> wanted, std::span<Node* const> inputs);

}  // namespace gcc_graph::lazy
