// Splits an axis whose elements repeat in a short period. The positions within a period are called phases.
//
// Example: element i of a doubled row reads input (i + 1) / 2 - 1 and its neighbour. Their weights depend on i mod 2.
// With i = 2 j + k, the quotients and remainders are constants for each k. The rest is affine in j, and vectors along j
// read contiguous memory.
#pragma once

#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// Splits the axis along which a store stage writes contiguous memory into periods of its quotients and remainders. A
/// period must have two to four elements, and the axis must consist of whole periods. Afterwards the axis counts
/// periods. A new innermost axis with the id `fresh` counts the elements of a period.
void split_phases(Stage& stage, std::vector<Axis>& axes, const std::vector<Operand>& operands, int fresh);

/// `value` at `minor` = 0, 1, ...: one expression for each point of `minor`.
std::vector<Expr> phases_of(const Expr& value, const Axis& minor);

}  // namespace gcg::cpu
