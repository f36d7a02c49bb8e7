#include "compiler/plan/overlap_launches.h"

#include <algorithm>

#include "compiler/kernel/typical_extent.h"
#include "compiler/plan/step_cost.h"
#include "compiler/plan/streams.h"

namespace gcg {
namespace {

/// True if the last operation of the step on its stream is, or may be, a launch.
bool ends_in_launch(const Step& step) {
  const auto* call = step.as<Call>();
  return step.as<Launch>() != nullptr || (call != nullptr && !call->fallback.empty());
}

class Overlaps {
 public:
  Overlaps(Plan& plan, Sequence& sequence) : plan_(plan), steps_(sequence.steps), order_(sequence) {}

  void mark() {
    for (StepId i : steps_.ids())
      if (const StepId last = neighbour(i); last.valid())
        steps_[i].as<Launch>()->overlaps =
            is_safe(steps_[i]) && has_few_blocks(steps_[last]) && gain(i, last) > loss(i, last);
  }

 private:
  /// The launch just before this one on its stream; invalid if there is none.
  StepId neighbour(StepId i) const {
    if (steps_[i].as<Launch>() == nullptr) return StepId();
    for (StepId k(i.index - 1); k.valid(); k = StepId(k.index - 1)) {
      if (steps_[k].is_barrier()) return StepId();
      if (steps_[k].stream == steps_[i].stream) return ends_in_launch(steps_[k]) ? k : StepId();
    }
    return StepId();
  }

  const CompiledKernel& code(const Step& step) const { return plan_.code[step.as<Launch>()->kernel]; }

  bool is_safe(const Step& step) const {
    if (!code(step).waits) return false;
    const std::vector<int>& ahead = code(step).ahead;
    // Only constants are safe, because the transfer of a caller's data may still be under way.
    const bool constants = std::all_of(ahead.begin(), ahead.end(), [&](int position) {
      const Buffer::Kind kind = plan_.buffers[step.as<Launch>()->operands[static_cast<size_t>(position)]].kind;
      return kind == Buffer::Kind::constant || kind == Buffer::Kind::packed;
    });
    return constants && std::all_of(step.waits.begin(), step.waits.end(),
                                    [&](StepId wait) { return steps_[wait].stream == step.stream; });
  }

  /// True if all blocks of the previous launch start soon. Otherwise blocks of this launch would wait in slots that
  /// blocks of the previous launch still need.
  bool has_few_blocks(const Step& last) const {
    const Machine& gpu = *plan_.machine;
    return last.as<Launch>() == nullptr || typical(code(last).tasks) <= gpu.nodes.overlapping * gpu.processors;
  }

  StepCost cost(StepId i) const { return step_cost(plan_, steps_[i]); }

  /// Microseconds that the overlap saves: the time of a launch, and of the bytes that resident blocks read ahead.
  double gain(StepId i, StepId last) const {
    const Machine& gpu = *plan_.machine;
    const double blocks = kTypicalResidentBlocks * gpu.processors;
    const double ahead = 1e6 * static_cast<double>(code(steps_[i]).ahead_bytes) * blocks / gpu.bytes_per_second;
    return gpu.nodes.overlapped + std::min(ahead, cost(last).microseconds);
  }

  /// Microseconds that waiting blocks take away from steps on other streams.
  double loss(StepId i, StepId last) const {
    if (plan_.streams < 2) return 0;
    const bool alone = std::ranges::all_of(steps_.ids(), [&](StepId other) {
      return steps_[other].stream == steps_[i].stream || order_.before(other, last) || order_.before(i, other);
    });
    return alone ? 0 : cost(i).fill * cost(last).microseconds;
  }

  const Plan& plan_;
  IndexedVector<StepId, Step>& steps_;
  const StepOrder order_;
};

}  // namespace

void overlap_launches(Plan& plan) {
  if (std::none_of(plan.code.begin(), plan.code.end(), [](const CompiledKernel& c) { return c.waits; })) return;
  for (Sequence& sequence : plan.sequences) Overlaps(plan, sequence).mark();
}

}  // namespace gcg
