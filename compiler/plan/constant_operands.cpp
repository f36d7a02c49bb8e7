#include "compiler/plan/constant_operands.h"

namespace gcg {

void mark_constant_operands(Plan& plan) {
  IndexedVector<KernelId, bool> seen(plan.kernels.size());
  for (const Sequence& sequence : plan.sequences)
    for (const Step& step : sequence.steps) {
      const auto* launch = step.as<Launch>();
      if (launch == nullptr) continue;
      for (size_t o = 0; o < launch->operands.size(); ++o) {
        const Buffer& buffer = plan.buffers[launch->operands[o]];
        Operand& operand = plan.kernels[launch->kernel].operands[o];
        operand.constant = buffer.kind == Buffer::Kind::constant && (operand.constant || !seen[launch->kernel]);
      }
      seen[launch->kernel] = true;
    }
}

}  // namespace gcg
