// How long a step takes, roughly: enough to tell what is worth a stream of its own, and what the CPU should not do.
#pragma once

#include "compiler/kernel/machine.h"
#include "compiler/schedule/schedule.h"

namespace gcg {

struct StepCost {
  double microseconds = 0;
  double fill = 1;  // share of the device that the step keeps busy; what is left others may use at the same time
};

/// On typical_gpu(): one schedule serves all GPUs.
StepCost step_cost(const Schedule& schedule, const Step& step);

/// How long the CPU works on a step of its own; some 2000 elements of a loop per microsecond.
double host_step_microseconds(const Schedule& schedule, const Step& step);

/// Copies between the memories.
struct HostTransfer {
  double bytes = 0;
  int copies = 0;
  void add(const Buffer& buffer);
  double microseconds() const { return copies * kHostCopy + bytes / kHostBytes; }
};

}  // namespace gcg
