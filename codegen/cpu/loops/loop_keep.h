// Avoids computing the values of a row twice: softmax sums exp(x - max) and then stores exp(x - max) / sum.
#pragma once

#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// A value that a reduction stage also stores, one per point of its axis.
struct KeptValue {
  int stage = -1;  // the reduction; -1: none
  int operand = -1;
  std::vector<Expr> index;  // over the axis of the reduction
};

/// Applies if the last stage stores a function of only one value, which an earlier reduction stage folds, and which is
/// expensive. Then the reduction stores the value in the last stage's result, and the last stage loads it from there.
/// This is also correct if an operand of the same size is the result's own memory (in-place), because such operands are
/// not read again after the reduction.
KeptValue keep_reduced_value(std::vector<Stage>& stages, const std::vector<Operand>& operands);

/// The same for a value that does not fit into the result, such as the exponentials of a softmax in 16 bits. It is
/// stored in an array of the row's length, which becomes the last of `operands`. Does not apply if lanes are points of
/// an outer axis.
KeptValue keep_reduced_row(std::vector<Stage>& stages, std::vector<Operand>& operands);

}  // namespace gcg::cpu
