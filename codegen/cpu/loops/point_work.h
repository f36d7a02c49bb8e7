// The cost of a loop's point, in units of one cheap element.
#pragma once

#include "compiler/kernel/expr.h"

namespace gcg::cpu {

/// Cost of computing one node from its arguments.
int64_t work_of_node(const ExprNode& e);
/// True for elementary functions with little other work. Such a function waits for its own intermediate results, so
/// several evaluations are interleaved.
bool is_long_chain(const Expr& e);
/// Cost of one evaluation, at least one cheap element. Reductions multiply the cost of their body by their extents.
Dim work_of(const Expr& e);
/// The number of points per task, if one point costs `work`. A task takes some microseconds, many times the cost of
/// starting it.
Dim points_per_task(const Dim& work);

}  // namespace gcg::cpu
