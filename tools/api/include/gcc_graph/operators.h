// What the compiler knows of operators: docs/operators.md as data.
#pragma once

#include <string>
#include <vector>

#include "gcc_graph/types.h"

namespace gcc_graph {

struct OperatorInfo {
  std::string domain, name;  ///< domain "ai.onnx", "com.microsoft"
  int since = 1;             ///< the oldest opset of the domain whose meaning is known
  int min_inputs = 0, max_inputs = 0, min_outputs = 0, max_outputs = 0;  ///< -1: any number
  /// Element types that inputs may have, of the first to the last, whose are those of all further ones: "numbers, as
  /// the first"; the words are those of docs/operators.md. Others are refused by the node's name.
  std::string types;
  /// The same of outputs: "as the first" is the type of the first input; where a set is given, an attribute or several
  /// inputs choose among it.
  std::string results;
  std::string becomes;  ///< how it gets to machine code: "elementwise", "contraction", "other operators"
};

/// By domain, then by name.
GCC_GRAPH_API std::vector<OperatorInfo> known_operators();

}  // namespace gcc_graph
