// The types in which a kernel multiplies and sums on a GPU, for reports.
#pragma once

#include "artifact_schema/kernel_note.h"
#include "compiler/kernel/kernel.h"
#include "compiler/kernel/target.h"

namespace gcg::cuda {

gart::KernelTypes arithmetic_of(const Kernel& kernel, const Target& target);

}  // namespace gcg::cuda
