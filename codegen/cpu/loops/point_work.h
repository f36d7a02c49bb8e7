// What a point of a loop costs, in units of one cheap element.
#pragma once

#include "compiler/kernel/expr.h"

namespace gcg::cpu {

/// Cost of computing one node from its arguments.
int64_t work_of_node(const ExprNode& e);
/// Elementary functions of little else: each waits for its own results, and several beside each other do not.
bool is_long_chain(const Expr& e);
/// Cost of one evaluation, at least one cheap element. Reductions multiply what they contain by their extents.
Dim work_of(const Expr& e);
/// How many points make a task, if one costs `work`: some microseconds, many times what starting a task costs.
Dim points_per_task(const Dim& work);

}  // namespace gcg::cpu
