#include "compiler/generate_code.h"

#include <map>

#include "compiler/support/error.h"

namespace gcg {
namespace {

const Backend& backend_for(const Target& target, const Backends& backends) {
  for (const auto& b : backends)
    if (b->device() == target.device) return *b;
  fail("no code generator for target '", target.name, "' is built in");
}

}  // namespace

TargetCode generate_code(const Target& target, const std::vector<ShapePlan>& plans, const Backends& backends, int threads) {
  TargetCode code;
  code.target = target;
  std::vector<const Kernel*> distinct;
  std::map<std::string, size_t> known;
  for (const ShapePlan& plan : plans) {
    auto& numbers = code.kernel_of.emplace_back();
    if (plan.device != target.device) continue;
    for (const Kernel& k : plan.schedule.kernels) {
      auto [it, fresh] = known.try_emplace(key(k), distinct.size());
      if (fresh) distinct.push_back(&k);
      numbers.push_back(it->second);
    }
  }
  code.blob = backend_for(target, backends).compile(distinct, target, threads);
  return code;
}

}  // namespace gcg
