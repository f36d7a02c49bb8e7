#include "compiler/schedule/constant_operands.h"

namespace gcg {

void mark_constant_operands(Schedule& schedule) {
  std::vector<bool> seen(schedule.kernels.size());
  for (const Sequence& sequence : schedule.sequences)
    for (const Step& step : sequence.steps) {
      if (step.kind != Step::Kind::launch || step.on_host) continue;
      const auto k = static_cast<size_t>(step.kernel.index);
      for (size_t o = 0; o < step.operands.size(); ++o) {
        const Buffer& buffer = schedule.buffers[static_cast<size_t>(step.operands[o].index)];
        Operand& operand = schedule.kernels[k].operands[o];
        operand.constant = buffer.kind == Buffer::Kind::constant && (operand.constant || !seen[k]);
        operand.of_caller |= buffer.kind == Buffer::Kind::input || buffer.kind == Buffer::Kind::output;
      }
      seen[k] = true;
    }
}

}  // namespace gcg
