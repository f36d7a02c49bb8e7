// The operators that the compiler supports: docs/operators.md as data.
#pragma once

#include <string>
#include <vector>

#include "gcc_graph/types.h"

namespace gcc_graph {

struct OperatorInfo {
  std::string domain, name;                                              ///< domain "ai.onnx", "com.microsoft"
  int since = 1;                                                         ///< the oldest supported opset of the domain
  int min_inputs = 0, max_inputs = 0, min_outputs = 0, max_outputs = 0;  ///< -1: any number
  /// Element types per input, as "numbers, as the first"; the last entry also applies to all further inputs. The terms
  /// are those of docs/operators.md. Other types are refused with the node's name.
  std::string types;
  /// Element types per output. "as the first": the type of the first input. If a set of types is given, an attribute or
  /// several inputs determine which of them.
  std::string results;
  std::string gradient;  ///< "yes"; "zero"; "as what it becomes"; or "no": training through the operator is refused
  std::string becomes;   ///< its lowering: "elementwise", "contraction", "other operators"
};

/// Sorted by domain, then by name.
GCC_GRAPH_API std::vector<OperatorInfo> known_operators();

}  // namespace gcc_graph
