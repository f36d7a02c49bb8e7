// Replaces artifact_schema/gpu_plans.cpp in libgart_cpu.so.
#include "artifact_schema/verify_internal.h"

namespace gart::verify {

bool runs_gpu_plans() { return false; }

}  // namespace gart::verify
