// The equation of an Einsum.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

struct Equation {
  /// Dimensions as labels: a letter, or -1 - i for the i-th dimension of an ellipsis, counted from its end.
  using Labels = std::vector<int>;

  std::vector<Labels> operands;
  Labels output;
  Labels summed;  // every label that is not in the output, each once
};

/// `ranks`: ranks of the operands. Throws CompileError, naming the node, if terms and operands do not fit.
Equation read_equation(const Node& node, const std::vector<int64_t>& ranks);

}  // namespace gcg
