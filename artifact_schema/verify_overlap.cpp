// Verifies launches that may start while the previous one runs: the memory they access before they have waited for it.
#include <algorithm>

#include "artifact_schema/verify_internal.h"

namespace gart::verify {
namespace {

/// True for steps that run after all earlier steps and before all later ones, on every stream.
bool is_barrier(const fb::Step& step) {
  return step.kind() == fb::StepKind::branch || step.kind() == fb::StepKind::loop ||
         step.kind() == fb::StepKind::bind || step.kind() == fb::StepKind::fail;
}

/// The overlapped step must be a launch, too, and must come directly before this one on its stream.
Status check_neighbour(const fb::Sequence& sequence, uint32_t index) {
  const uint32_t stream = sequence.steps()->Get(index)->stream();
  for (uint32_t before = index; before-- > 0;) {
    const fb::Step& other = *sequence.steps()->Get(before);
    if (!is_barrier(other) && other.stream() != stream) continue;
    if (!is_barrier(other) && other.kind() == fb::StepKind::launch) return {};
    return failure("it overlaps step ", before, ", not a launch of the GPU");
  }
  return failure("it overlaps the step before it, but is the first one of its stream");
}

/// A step that overlaps the previous one may wait only for steps of its own stream.
Status check_waits(const fb::Sequence& sequence, const fb::Step& step) {
  for (const uint32_t wait : span_of(step.waits())) {
    if (const uint32_t stream = sequence.steps()->Get(wait)->stream(); stream != step.stream())
      return failure("it overlaps the step before it, but waits for step ", wait, " of stream ", stream);
  }
  return {};
}

}  // namespace

Status check_waiting_kernel(Budget& budget, const fb::Kernel& kernel) {
  if (count_of(kernel.ahead()) != 0 && !kernel.waits())
    return failure("it reads operands ahead, but waits for nothing");
  return check_indices(budget, span_of(kernel.ahead()), kernel.operands(), "ahead", "operands");
}

Status check_overlap(const PlanCheck& check, const fb::Sequence& sequence, uint32_t index) {
  const fb::Step& step = *sequence.steps()->Get(index);
  if (!step.overlaps()) return {};
  if (check.artifact.manifest->targets()->Get(check.plan.target())->kind() == fb::TargetKind::cpu)
    return failure("it overlaps the step before it, but the plan is for a CPU");
  if (step.kind() != fb::StepKind::launch)
    return failure("it overlaps the step before it, but is not a launch of the GPU");
  const fb::Kernel& kernel = *check.plan.kernels()->Get(step.kernel());
  if (!kernel.waits()) return failure("it overlaps the step before it, but kernel ", step.kernel(), " does not wait");
  for (const uint32_t position : span_of(kernel.ahead())) {
    const uint32_t number = step.operands()->Get(position);
    const fb::BufferKind kind = check.buffer(number).kind();
    if (kind == fb::BufferKind::constant || (kind == fb::BufferKind::packed && !check.is_load_time_packing)) continue;
    return failure("its kernel reads buffer ", number, ", which is of kind ", fb::EnumNameBufferKind(kind),
                   ", before it waits for the step that it overlaps");
  }
  if (Status status = check_waits(sequence, step); !status.ok()) return status;
  return check_neighbour(sequence, index);
}

}  // namespace gart::verify
