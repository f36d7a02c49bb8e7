#include "artifact_schema/verify_internal.h"

namespace gart::verify {

bool runs_gpu_plans() { return true; }

}  // namespace gart::verify
