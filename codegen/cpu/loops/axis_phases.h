// An axis whose elements come in a short period of kinds: phases.
//
// Element i of a doubled row reads input (i + 1) / 2 - 1 and its neighbour, with weights that depend on i mod 2. With i
// = 2 j + k quotients and remainders are numbers for each k, what is left is affine in j, and vectors along j read
// contiguous memory.
#pragma once

#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// Cuts the axis along which a store stage writes contiguous memory into periods of its quotients and remainders, if
/// they are of two to four elements and it holds whole ones: the axis counts periods, and one with the id `fresh`,
/// innermost, the elements.
void split_phases(Stage& stage, std::vector<Axis>& axes, const std::vector<Operand>& operands, int fresh);

/// `value` where `minor` is 0, 1, ...: one expression for each of its points.
std::vector<Expr> phases_of(const Expr& value, const Axis& minor);

}  // namespace gcg::cpu
