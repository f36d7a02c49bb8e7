// Copies of nodes for rules that add nodes, which may move the original node.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// The node without its subgraphs.
inline Node copy_of(const Node& n) {
  Node copy;
  copy.op = n.op;
  copy.name = n.name;
  copy.inputs = n.inputs;
  copy.outputs = n.outputs;
  copy.attributes = n.attributes;
  return copy;
}

}  // namespace gcg
