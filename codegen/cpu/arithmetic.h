// The types in which a kernel multiplies and sums on a CPU, for reports.
#pragma once

#include "artifact_schema/kernel_note.h"
#include "codegen/cpu/llvm/cpu_target.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

gart::KernelTypes arithmetic_of(const Kernel& kernel, const CpuTarget& target);

}  // namespace gcg::cpu
