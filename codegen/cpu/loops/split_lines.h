// Detects stores that touch two cache lines each.
#pragma once

#include <vector>

#include "codegen/cpu/llvm/cpu_target.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// True if rows are long, little is done per element, and rows may begin anywhere in a cache line. Stores of a whole
/// line's width that each touch two lines take 1.3 times as long (Intel, from L2). `lanes`: lanes of a register of the
/// store.
bool stores_split_lines(const CpuTarget& target, const Stage& store, const Axis& lane, int lanes,
                        const std::vector<Operand>& operands);

}  // namespace gcg::cpu
