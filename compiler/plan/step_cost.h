// How long a step takes, roughly: enough to tell what is worth a stream of its own.
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

struct StepCost {
  double microseconds = 0;
  double fill = 1;  // share of the device that the step keeps busy; what is left others may use at the same time
};

/// Symbolic extents count as kTypicalExtent. On the plan's machine.
StepCost step_cost(const Plan& plan, const Step& step);

/// How long one core of the plan's CPU works on the step.
double core_microseconds(const Plan& plan, const Step& step);

}  // namespace gcg
