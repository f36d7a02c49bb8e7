// How long a step takes, roughly: enough to tell what is worth a stream of its own, and what the CPU should not do.
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

struct StepCost {
  double microseconds = 0;
  double fill = 1;  // share of the device that the step keeps busy; what is left others may use at the same time
};

/// Symbolic extents count as kTypicalExtent. On the plan's machine.
StepCost step_cost(const Plan& plan, const Step& step);

/// How long the CPU works on one of its kernels; some 2000 elements of a loop per microsecond.
double host_microseconds(const Kernel& kernel);

/// How long one core of the plan's CPU works on the step.
double core_microseconds(const Plan& plan, const Step& step);

/// Copies between the memories.
struct HostTransfer {
  double bytes = 0;
  int copies = 0;
  void add(const Buffer& buffer);
  double microseconds() const { return copies * kHostCopy + bytes / kHostBytes; }
};

}  // namespace gcg
