// Lists the parts of a model that the compiler does not support: one row per node, all rows in one error.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/support/error.h"

namespace gcg {

/// One node of the model that cannot be compiled.
struct UnsupportedNode {
  std::string name;     // ONNX node name, or its first output's name if it has none
  std::string op;       // op_type; "graph input" and "initializer" for rows that are not nodes
  std::string domain;   // "" is ai.onnx
  int64_t version = 0;  // the opset version that the model imports for the domain; 0: none, or unknown
  std::string why;
};

/// The reason why one node cannot be compiled; what() is "Softmax 'name': why".
class NodeError : public CompileError {
 public:
  explicit NodeError(UnsupportedNode node)
      : CompileError(concat(node.op, " '", node.name, "': ", node.why)), node_(std::move(node)) {}
  const UnsupportedNode& node() const { return node_; }

 private:
  UnsupportedNode node_;
};

/// All unsupported parts of a model; what() is the whole table, one line per row.
class UnsupportedModel : public CompileError {
 public:
  explicit UnsupportedModel(std::vector<UnsupportedNode> nodes);
  const std::vector<UnsupportedNode>& nodes() const { return nodes_; }

 private:
  std::vector<UnsupportedNode> nodes_;
};

}  // namespace gcg
