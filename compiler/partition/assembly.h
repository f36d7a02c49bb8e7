// Splits a graph into parts, which are graphs of their own. An Assembly (the fleet plan) says how the parts form the
// whole.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/partition/cut.h"

namespace gcg {

/// A subgraph that is an entry point of the file. Its inputs are the values that cross, in the order of
/// PartCall::inputs, then one boolean vector per symbol of `extents`. The vector's length is the symbol's value; its
/// elements are never read. Therefore a part's inputs carry all its symbols, as with any model. A part contains its
/// weights. Parts that differ only in weights are different parts, but the code section holds their kernels once.
struct Part {
  Graph graph;
  std::vector<std::string> extents;
};

/// A run of a part. Equal parts are stored once and called several times. Their values have the part's own names and
/// symbols.
struct PartCall {
  int part = 0;
  int group = 0;                         // number of its group in the cut
  std::vector<ValueId> inputs, outputs;  // values of Assembly::graph
  // Extents over the whole graph's symbols: the values of Part::extents in this call.
  std::vector<Dim> extents;
  std::vector<std::string> nodes;  // ONNX names
};

/// The source of a symbol of the whole graph. `value` has the symbol as an extent, so the symbol is known as soon as
/// `value` exists.
struct SymbolSource {
  std::string symbol;
  ValueId value;  // an input of the graph or an output of a call
  int axis = 0;
};

struct Assembly {
  /// The whole graph. In it, outputs of the model that were its inputs or constants are copies. Constraints on extents
  /// must be checked before the first call. If they name extents that depend on data, they must be checked as soon as
  /// these are known. Facts about extents that never leave a part belong to the part.
  Graph graph;
  std::vector<Part> parts;
  std::vector<PartCall> calls;        // in a valid execution order
  std::vector<SymbolSource> symbols;  // all symbols in PartCall::extents and in types of values between calls
  Cut cut;
};

/// Makes parts and calls of the groups. Values in `kept_values` (besides the graph's outputs) are outputs of the calls
/// that make them, and need whole calls (at_kept_values.h). Each part computes its own copies of values that follow
/// from extents, for example an input of Reshape. Such values do not cross, and a group that computes only such values
/// has no call. If, Loop and Scan stay whole. Requires: types are inferred; kept values that follow from extents are
/// outputs of the graph, so that the cut counts them as work.
Assembly split(const Graph& graph, Cut cut, const std::vector<ValueId>& kept_values);

}  // namespace gcg
