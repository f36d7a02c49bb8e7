// Finds the places where the run of a GPU plan waits for the host.
#pragma once

#include <vector>

#include "compiler/plan/plan.h"
#include "compiler/report/remark.h"

namespace gcg {

/// One entry per extent that depends on data.
std::vector<HostWait> host_waits(const Plan& plan);

}  // namespace gcg
