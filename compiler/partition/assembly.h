// A graph taken apart: parts are graphs of their own, an assembly says how they make the whole.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/partition/cut.h"

namespace gcg {

/// A sub-graph that is an entry point of the file. Its inputs: values that cross, in the order of PartCall::inputs,
/// then one boolean vector per symbol of `extents`: its length is the symbol's value, its elements are never read. (So
/// a part's symbols are those that its inputs carry, as with any model.)
struct Part {
  Graph graph;
  std::vector<std::string> extents;
};

/// A run of a part. Equal parts are there once and called often: their values have the part's own names and symbols.
struct PartCall {
  int part = 0;
  int group = 0;                         // of the cut
  std::vector<ValueId> inputs, outputs;  // of the whole graph
  std::vector<Dim> extents;              // of the whole graph's symbols: what Part::extents are in this call
  std::vector<std::string> nodes;        // ONNX names
};

struct Assembly {
  std::vector<Part> parts;
  std::vector<PartCall> calls;  // in an order that runs
  Cut cut;
};

/// Groups become parts and calls. Values in `kept` (besides the graph's outputs) are outputs of the calls that make
/// them. An output of the graph that is an input or a constant of it gets a node that copies it, in `graph` as in the
/// cut. Requires: types are inferred.
Assembly split(Graph& graph, Cut cut, const std::vector<ValueId>& kept);

}  // namespace gcg
