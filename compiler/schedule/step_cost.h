// How long a step takes on a GPU, roughly: enough to tell what is worth a stream of its own.
#pragma once

#include "compiler/schedule/schedule.h"

namespace gcg {

struct StepCost {
  double microseconds = 0;
  double fill = 1;  // share of the device that the step keeps busy; what is left others may use at the same time
};

/// Symbolic extents count as 64. The device is one with 2 TB/s, 20 TFLOP/s and 100 multiprocessors.
StepCost step_cost(const Schedule& schedule, const Step& step);

}  // namespace gcg
