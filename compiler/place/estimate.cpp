#include "compiler/place/estimate.h"

#include <algorithm>

#include "compiler/fleet/measures.h"
#include "compiler/kernel/device_traits.h"
#include "compiler/kernel/typical_extent.h"
#include "compiler/plan/step_cost.h"

namespace gcg {
namespace {

double sequence_us(const Plan& plan, const Sequence& sequence, bool by_threads);

double step_us(const Plan& plan, const Step& step, bool by_threads) {
  double longest = 0;
  for (SequenceId body : step.bodies())
    longest = std::max(longest, sequence_us(plan, plan.sequences[body], by_threads));
  if (step.as<Loop>() != nullptr) return longest * kTypicalExtent;
  if (step.as<Branch>() != nullptr) return longest;
  if (step.as<Bind>() != nullptr || step.as<Fail>() != nullptr || step.continues()) return 0;
  return by_threads ? core_microseconds(plan, step) : step_cost(plan, step).microseconds;
}

double sequence_us(const Plan& plan, const Sequence& sequence, bool by_threads) {
  double us = 0;
  for (const Step& step : sequence.steps) us += step_us(plan, step, by_threads);
  return us;
}

}  // namespace

double estimate_us(const Plan& plan, const FleetDevice& device) {
  const bool by_threads = !traits_of(device.kind).has_streams;
  const double us = sequence_us(plan, plan.entry(), by_threads);
  if (device.gflops > 0) return bounded_microseconds(us * plan.machine->flops_per_second() / (1e9 * device.gflops));
  return bounded_microseconds(us / static_cast<double>(by_threads ? std::max<size_t>(1, device.cores.size()) : 1));
}

}  // namespace gcg
