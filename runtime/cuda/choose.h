// Chooses the target whose code a GPU runs.
#pragma once

#include <cstdint>

#include "artifact_schema/spans.h"

namespace gart::cuda {

/// How well the target's code fits a GPU of compute capability `sm` (90); 0: it does not run there.
///
/// Machine code for sm_XY runs on XZ with Z >= Y of the same major number (80 on 86 and 89). GPUs of the Jetson family
/// are an exception: they run exactly their own code, and no other GPU runs it. The suffix `a` restricts code to
/// exactly its SM, and `f` to its family. PTX runs on its SM and on everything newer; the driver compiles it.
uint32_t fitness(const fb::Target& target, int sm);

}  // namespace gart::cuda
