#include "compiler/overlap_launches.h"

#include <algorithm>
#include <optional>

#include "compiler/schedule/step_cost.h"
#include "compiler/schedule/streams.h"

namespace gcg {
namespace {

namespace fb = gart::fb;

constexpr double kResidentBlocks = 2;  // of a processor

bool is_barrier(const fb::StepT& step) {
  return step.device != 0 || step.kind == fb::StepKind::branch || step.kind == fb::StepKind::loop ||
         step.kind == fb::StepKind::bind || step.kind == fb::StepKind::fail;
}

class Overlaps {
 public:
  Overlaps(fb::PlanT& plan, const Schedule& schedule, size_t sequence, const EmittedSteps& emitted)
      : plan_(plan),
        schedule_(schedule),
        from_(schedule.sequences[sequence]),
        emitted_(emitted),
        steps_(plan.sequences[sequence]->steps),
        order_(from_) {}

  void mark() {
    for (size_t i = 0; i < steps_.size(); ++i)
      if (const auto last = neighbour(i)) steps_[i]->overlaps = is_safe(*steps_[i]) && gain(i, *last) > loss(i, *last);
  }

 private:
  /// The launch right before this one on its stream.
  std::optional<size_t> neighbour(size_t i) const {
    if (steps_[i]->kind != fb::StepKind::launch || steps_[i]->device != 0) return std::nullopt;
    for (size_t k = i; k-- > 0;) {
      if (is_barrier(*steps_[k])) return std::nullopt;
      if (steps_[k]->stream == steps_[i]->stream)
        return steps_[k]->kind == fb::StepKind::launch ? std::optional(k) : std::nullopt;
    }
    return std::nullopt;
  }

  bool is_safe(const fb::StepT& step) const {
    const fb::KernelT& kernel = *plan_.kernels[step.kernel];
    // One that stands in for a call follows it, or whatever came before that one where it does not run.
    if (!kernel.waits || step.stands_in >= 0) return false;
    const bool constants = std::all_of(kernel.ahead.begin(), kernel.ahead.end(), [&](uint32_t position) {
      const fb::BufferKind kind = plan_.buffers[step.operands[position]]->kind;
      return kind == fb::BufferKind::constant || kind == fb::BufferKind::prepared;
    });
    return constants && std::all_of(step.waits.begin(), step.waits.end(),
                                    [&](uint32_t wait) { return steps_[wait]->stream == step.stream; });
  }

  StepCost cost(size_t i) const { return step_cost(schedule_, from_.steps[emitted_.origin[i]]); }

  /// Microseconds: the start, and what the blocks that fit the device meanwhile read ahead.
  double gain(size_t i, size_t last) const {
    const Machine& gpu = typical_gpu();
    const double ahead =
        1e6 * static_cast<double>(emitted_.ahead_bytes[i]) * kResidentBlocks * gpu.processors / gpu.bytes_per_second;
    return kOverlappedStart + std::min(ahead, cost(last).microseconds);
  }

  /// Microseconds of the device that steps of other streams could use were it not for waiting blocks.
  double loss(size_t i, size_t last) const {
    const size_t mine = emitted_.origin[i], before = emitted_.origin[last];
    for (size_t other = 0; schedule_.streams > 1 && other < from_.steps.size(); ++other) {
      if (from_.steps[other].stream == from_.steps[mine].stream) continue;
      if (order_.before(other, before) || order_.before(mine, other)) continue;
      return cost(i).fill * cost(last).microseconds;
    }
    return 0;
  }

  fb::PlanT& plan_;
  const Schedule& schedule_;
  const Sequence& from_;
  const EmittedSteps& emitted_;
  std::vector<std::unique_ptr<fb::StepT>>& steps_;
  const StepOrder order_;
};

}  // namespace

void overlap_launches(fb::PlanT& plan, const Schedule& schedule, const std::vector<EmittedSteps>& emitted) {
  const auto waits = [](const auto& kernel) { return kernel->waits; };
  if (std::none_of(plan.kernels.begin(), plan.kernels.end(), waits)) return;
  for (size_t q = 0; q < plan.sequences.size(); ++q) Overlaps(plan, schedule, q, emitted[q]).mark();
}

}  // namespace gcg
