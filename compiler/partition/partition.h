// Which node runs on which device. A graph for a GPU runs there whole, but for the nodes that the user sends to the
// CPU.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Nodes whose name or operator matches the pattern (* and ? stand for any characters and one) run on `device`.
struct Assignment {
  std::string pattern;
  DeviceClass device;
};

/// "PATTERN=cpu" or "PATTERN=cuda". Throws CompileError.
Assignment parse_assignment(const std::string& text);

/// Found by name: a node that passes rewrite keeps the name it had in the model.
class Partition {
 public:
  /// `model`: as imported, so that names and operators are the user's. Later assignments win over earlier ones. A node
  /// with bodies takes all nodes in them along. Throws CompileError for an assignment that matches nothing.
  Partition(const Graph& model, const std::vector<Assignment>& assignments);

  /// Nodes can leave GPUs only if there are some, and a CPU to go to. Throws CompileError.
  void check_targets(const std::vector<Target>& targets) const;
  /// Sets Node::on_host in a graph for a GPU and its bodies. Nothing that comes after may make one node of two that run
  /// on different devices. Returns a sentence per assignment to the CPU that found no node with work of its own.
  /// Requires: clean-up done, no layout chosen yet. Before: layout passes, fusion.
  std::vector<std::string> apply(Graph& graph) const;

 private:
  std::map<std::string, std::string> host_;  // node names -> the pattern that sent them there; "": custom operators
};

}  // namespace gcg
