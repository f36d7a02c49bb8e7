#include "compiler/plan/constant_operands.h"

#include <map>
#include <utility>

namespace gcg {
namespace {

std::vector<bool> constants_of(const Plan& plan, const Launch& launch) {
  std::vector<bool> marks;
  for (const BufferId b : launch.operands) marks.push_back(plan.buffers[b].kind == Buffer::Kind::constant);
  return marks;
}

}  // namespace

void mark_constant_operands(Plan& plan) {
  std::map<std::pair<KernelId, std::vector<bool>>, KernelId> variants;
  IndexedVector<KernelId, bool> is_marked(plan.kernels.size());
  for (Sequence& sequence : plan.sequences)
    for (Step& step : sequence.steps) {
      auto* launch = step.as<Launch>();
      if (launch == nullptr) continue;
      const std::vector<bool> marks = constants_of(plan, *launch);
      const auto [variant, fresh] = variants.try_emplace({launch->kernel, marks}, launch->kernel);
      if (fresh) {
        if (is_marked[launch->kernel]) {
          Kernel copy = plan.kernels[launch->kernel];
          variant->second = plan.kernels.push_back(std::move(copy));
        }
        is_marked[launch->kernel] = true;
        for (size_t o = 0; o < marks.size(); ++o) plan.kernels[variant->second].operands[o].constant = marks[o];
      }
      launch->kernel = variant->second;
    }
}

}  // namespace gcg
