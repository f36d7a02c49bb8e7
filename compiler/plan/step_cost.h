// A rough estimate of a step's time, accurate enough to decide whether the step gets its own stream.
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

struct StepCost {
  double microseconds = 0;
  double fill = 1;  // fraction of the device that the step occupies; other steps may use the rest meanwhile
};

/// The cost on the plan's machine. Symbolic extents count as kTypicalExtent.
StepCost step_cost(const Plan& plan, const Step& step);

/// Microseconds of work for one core of the plan's CPU.
double core_microseconds(const Plan& plan, const Step& step);

}  // namespace gcg
