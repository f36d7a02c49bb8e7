// Tables of values that depend on one axis alone.
//
// Example: in a resized row, an element's position in the input and the weights of its neighbours take divisions, and
// are equal in all rows. A kernel computes such an index or weight once per call for each element of the axis, into
// scratch memory.
#pragma once

#include <set>
#include <vector>

#include "codegen/cpu/llvm/function_builder.h"
#include "codegen/cpu/loops/loop_plan.h"

namespace gcg::cpu {

struct AxisTable {
  Axis axis;
  Expr value;
  int operand = -1;  // an array of the builder's kernel, [extent of the axis]
};

struct AxisTables {
  LoopKernel loop;  // reads the tables
  std::vector<AxisTable> tables;
  std::set<int> rising;  // operands of tables whose indices never decrease
};

/// Finds values that `plan`, the plan of `loop`, would compute with divisions at every point although they depend on
/// one axis alone. Adds arrays for them to the builder's kernel.
AxisTables tabulate_axes(FunctionBuilder& f, const LoopKernel& loop, const LoopPlan& plan);

/// Fills the tables, at the builder's insertion point.
void emit_axis_tables(FunctionBuilder& f, const std::vector<AxisTable>& tables);

/// Finds positions, along the vector axis of the only store, of elements that are stored one by one. Sets
/// `ends.tabulated` of its plan. The tables have entries for the elements outside the interior, or for all elements of
/// a row whose interior is too short for vectors.
std::vector<AxisTable> tabulate_ends(FunctionBuilder& f, LoopPlan& plan);
void emit_end_tables(FunctionBuilder& f, const StagePlan& store, const std::vector<AxisTable>& tables);

}  // namespace gcg::cpu
