// A graph taken apart: parts are graphs of their own, an assembly says how they make the whole.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/partition/cut.h"

namespace gcg {

/// A sub-graph that is an entry point of the file. Its inputs: values that cross, in the order of PartCall::inputs,
/// then one boolean vector per symbol of `extents`: its length is the symbol's value, its elements are never read. (So
/// a part's symbols are those that its inputs carry, as with any model.) Weights are in it: parts that differ in them
/// are two, whose kernels the code section has once.
struct Part {
  Graph graph;
  std::vector<std::string> extents;
};

/// A run of a part. Equal parts are there once and called often: their values have the part's own names and symbols.
struct PartCall {
  int part = 0;
  int group = 0;                         // of the cut
  std::vector<ValueId> inputs, outputs;  // of Assembly::graph
  std::vector<Dim> extents;              // of the whole graph's symbols: what Part::extents are in this call
  std::vector<std::string> nodes;        // ONNX names
};

/// A symbol of the whole graph has its value as soon as the value is there whose extent it is.
struct SymbolSource {
  std::string symbol;
  ValueId value;  // an input of the graph or an output of a call
  int axis = 0;
};

struct Assembly {
  /// The whole graph. Outputs of the model that were inputs or constants of it are copies here. What constrains its
  /// extents is to be checked before the first call, or, where it names extents that depend on data, as soon as they
  /// are known; facts about extents that never leave a part are the part's.
  Graph graph;
  std::vector<Part> parts;
  std::vector<PartCall> calls;        // in an order that runs
  std::vector<SymbolSource> symbols;  // all that occur in types of values between calls and in PartCall::extents
  Cut cut;
};

/// Groups become parts and calls. Values in `kept` (besides the graph's outputs) are outputs of the calls that make
/// them, and need whole calls (at_kept_values.h). What a part knows of extents (an input of Reshape, say) it computes
/// itself; such values do not cross, and a group in which nothing else is done has no call. If, Loop and Scan stay
/// whole. Requires: types are inferred; kept values that follow from extents are outputs of the graph, so that the cut
/// counts them as work.
Assembly split(const Graph& graph, Cut cut, const std::vector<ValueId>& kept);

}  // namespace gcg
