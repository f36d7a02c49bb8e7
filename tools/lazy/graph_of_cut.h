// Converts a cut to a graph for the compiler.
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

/// Names of the inputs and results of a graph that will be saved. Given values that are not inputs become constants.
struct Naming {
  std::span<Node* const> inputs;
  std::vector<std::string> input_names, output_names;  // missing names become "in0", "out0"
  /// If set, evaluated values that are not inputs still become inputs, and this receives their values
  /// (CompileOptions::parameters).
  std::map<std::string, gcg::TensorRef>* parameters = nullptr;
};

/// The order of the inputs: the evaluated values; one u8[s] per symbol s of the pattern, which passes the symbol's
/// value as its extent; the panels of `packed`, which products read in place of the matrices. The outputs are the
/// results. With `naming`, the inputs are those of `naming`, in their order.
gcg::Graph graph_of_cut(const Cut& cut, const Pattern& pattern, const Naming* naming = nullptr,
                        std::span<const Weight> packed = {});

/// The graph from `inputs` to `requested`. Call it while the tape exists under which these nodes were recorded.
/// `parameters`: as in Naming.
gcg::Graph graph_to_save(std::span<Node* const> requested, std::span<Node* const> inputs, const SaveOptions& options,
                         std::map<std::string, gcg::TensorRef>* parameters);

/// The values that depend on no input and that other nodes of the graph read. They are computed before the graph is
/// saved.
std::vector<Node*> fixed_values(std::span<Node* const> requested, std::span<Node* const> inputs);

}  // namespace gcc_graph::lazy
