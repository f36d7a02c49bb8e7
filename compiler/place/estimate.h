// How long a part takes on a device, before anybody has measured it.
#pragma once

#include "compiler/fleet/fleet.h"
#include "compiler/plan/plan.h"

namespace gcg {

/// Microseconds of a run of the plan, which is for the device's target: its steps one after the other, bodies of loops
/// kTypicalExtent times, of a branch the longer one; open extents count as kTypicalExtent. A device whose rate was
/// measured takes as much less as it is faster than the plan's machine, a pool of k cores without one a kth.
double estimate_us(const Plan& plan, const FleetDevice& device);

}  // namespace gcg
