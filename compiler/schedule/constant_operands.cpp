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
        bool& constant = schedule.kernels[k].operands[o].constant;
        constant = buffer.kind == Buffer::Kind::constant && (constant || !seen[k]);
      }
      seen[k] = true;
    }
}

}  // namespace gcg
