#include "compiler/generate_code.h"

#include <algorithm>
#include <map>

#include "compiler/support/error.h"

namespace gcg {
namespace {

const Backend& backend_for(const Target& target, const Backends& backends) {
  for (const auto& b : backends)
    if (b->device() == target.device) return *b;
  fail("no code generator for target '", target.name, "' is built in");
}

bool has_control_flow(const Schedule& schedule) {
  for (const Sequence& sequence : schedule.sequences)
    for (const Step& step : sequence.steps)
      if (step.kind == Step::Kind::branch || step.kind == Step::Kind::loop) return true;
  return false;
}

}  // namespace

TargetCode generate_code(const Target& target, const std::vector<ShapePlan>& plans, const Backends& backends, int threads) {
  TargetCode code;
  code.target = target;
  std::vector<const Kernel*> distinct;
  std::map<std::string, size_t> known;
  for (const ShapePlan& plan : plans) {
    auto& numbers = code.kernel_of.emplace_back();
    const bool leaves = plan.device == DeviceClass::cuda && target.device == DeviceClass::cpu;
    if (plan.device != target.device && !leaves) continue;
    for (const Kernel& k : leaves ? plan.schedule.host_kernels : plan.schedule.kernels) {
      if (!leaves && !plan.has_code(numbers.size())) {
        numbers.push_back(kNoKernel);
        continue;
      }
      auto [it, fresh] = known.try_emplace(key(k), distinct.size());
      if (fresh) distinct.push_back(&k);
      numbers.push_back(it->second);
    }
  }
  const Backend& backend = backend_for(target, backends);
  code.blob = backend.compile(distinct, target, threads);
  const bool steered = std::any_of(plans.begin(), plans.end(), [&](const ShapePlan& plan) {
    return plan.device == target.device && has_control_flow(plan.schedule);
  });
  if (steered) backend.add_steering(code.blob, target);
  return code;
}

}  // namespace gcg
