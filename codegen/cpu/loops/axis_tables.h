// Tables of what depends on one axis alone.
//
// Where an element of a resized row lies in the input, and by which weights its neighbours count, takes divisions, and
// is the same in every row. A kernel computes such an index or weight once per call for each element of the axis, into
// scratch memory.
#pragma once

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
};

/// Finds what `plan`, of this loop, would compute with divisions for every point though it depends on one axis only;
/// adds arrays for it to the builder's kernel.
AxisTables tabulate_axes(FunctionBuilder& f, const LoopKernel& loop, const LoopPlan& plan);

/// Fills the tables, at the builder's insertion point.
void emit_axis_tables(FunctionBuilder& f, const std::vector<AxisTable>& tables);

}  // namespace gcg::cpu
