// The cost of a stage with a given vector axis.
#pragma once

#include <vector>

#include "codegen/cpu/llvm/cpu_target.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// Approximate cycles per element in vectors of `lanes`. `interleaved_store`: the elements that lie between two lanes'
/// elements are stored with them.
double lane_cost(const Stage& stage, const std::vector<Operand>& operands, const Axis& axis, int lanes,
                 bool interleaved_store = false);

/// Bytes of the widest element that the stage's vectors hold. Index arithmetic does not count, nor do numbers made of
/// extents, which are equal in all lanes.
int64_t lane_bytes(const Stage& stage);
/// True if the target has masked accesses for all element types of the stage.
bool is_maskable(const CpuTarget& target, const Stage& stage, const std::vector<Operand>& operands);
/// True if a select with a condition per lane guards a load.
bool has_masked_load(const Expr& value, const Axis& lane);
bool has_interleaved_load(const Stage& stage, const std::vector<Operand>& operands, const Axis& lane);
/// True if the stage reads at unevenly spaced positions.
bool gathers(const Stage& stage, const std::vector<Operand>& operands, const Axis& axis);
/// True if the code inside is scalar (calls, gathers). It gains nothing from more than one register per step.
bool is_scattered(const Stage& stage, const std::vector<Operand>& operands, const Axis& axis);

}  // namespace gcg::cpu
