// What it costs a stage to have an axis as its vector axis.
#pragma once

#include <vector>

#include "codegen/cpu/llvm/cpu_target.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// Cycles per element, roughly, in vectors of `lanes`. `interleaved_store`: vectors of what lies between the lanes'
/// elements are stored together with them.
double lane_cost(const Stage& stage, const std::vector<Operand>& operands, const Axis& axis, int lanes,
                 bool interleaved_store = false);

/// Bytes of the widest element that vectors of the stage hold. Arithmetic on indices does not count, nor do numbers
/// made of extents, which are the same in all lanes.
int64_t lane_bytes(const Stage& stage);
/// Has the target masked accesses for all of the stage's element types?
bool is_maskable(const CpuTarget& target, const Stage& stage, const std::vector<Operand>& operands);
/// Does a select that takes sides by lane guard a load?
bool has_masked_load(const Expr& value, const Axis& lane);
bool has_interleaved_load(const Stage& stage, const std::vector<Operand>& operands, const Axis& lane);
/// Does it read at places that are not equally far apart?
bool gathers(const Stage& stage, const std::vector<Operand>& operands, const Axis& axis);
/// Scalar code inside (calls, gathers) gains nothing from more than one register per step.
bool is_scattered(const Stage& stage, const std::vector<Operand>& operands, const Axis& axis);

}  // namespace gcg::cpu
