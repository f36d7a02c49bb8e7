#include "compiler/report/host_waits.h"

namespace gcg {

std::vector<HostWait> host_waits(const Plan& plan) {
  std::vector<HostWait> waits;
  for (const Sequence& sequence : plan.sequences)
    for (const Step& step : sequence.steps)
      if (const auto* bind = step.as<Bind>()) waits.push_back({step.source, bind->symbol});
  return waits;
}

}  // namespace gcg
