// Estimates a part's time on a device before it is measured.
#pragma once

#include "compiler/fleet/fleet.h"
#include "compiler/plan/plan.h"

namespace gcg {

/// Microseconds of a run of the plan, which must be for the device's target. Steps run one after the other. A loop runs
/// kTypicalExtent times, a branch counts its longer side; symbolic extents count as kTypicalExtent. If the device's
/// rate was measured, the time is scaled by the ratio of the rates of the plan's machine and the device. Otherwise a
/// pool of k cores takes 1/k of the time.
double estimate_us(const Plan& plan, const FleetDevice& device);

}  // namespace gcg
