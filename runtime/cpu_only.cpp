// Part of libgart_cpu.so only, in place of artifact_schema/gpu_plans.cpp.
#include "artifact_schema/verify_internal.h"

namespace gart::verify {

bool runs_gpu_plans() { return false; }

}  // namespace gart::verify
