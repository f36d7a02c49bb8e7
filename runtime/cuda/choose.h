// Which target's code a GPU runs.
#pragma once

#include <cstdint>

#include "artifact_schema/spans.h"

namespace gart::cuda {

/// How well the target's code suits a GPU of compute capability `sm` (90); 0: it does not run there.
///
/// Machine code for sm_XY runs on XZ with Z >= Y of the same major number (80 on 86 and 89), except that the GPUs of
/// the Jetson family take exactly their own and give theirs to no other; the suffix `a` binds code to exactly its SM,
/// `f` to its family. PTX runs on its SM and everything newer, after the driver compiled it.
uint32_t fitness(const fb::Target& target, int sm);

}  // namespace gart::cuda
