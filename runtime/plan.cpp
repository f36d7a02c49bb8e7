#include "runtime/plan.h"

#include <algorithm>

namespace gart {
namespace {

void find_late_buffers(Plan& plan) {
  const uint32_t count = count_of(plan.manifest->buffers());
  plan.early_buffer.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Buffer& buffer = plan.buffer(i);
    const bool view = buffer.alias_of() >= 0;
    plan.early_buffer[i] = plan.early_slot[buffer.size()] &&
                           (!view || (plan.early_slot[buffer.alias_offset()] && plan.early_buffer[buffer.alias_of()]));
    if (!plan.early_buffer[i]) plan.late_buffers.push_back(i);
  }
}

bool is_callers(const Plan& plan, uint32_t buffer) {
  const fb::BufferKind kind = plan.buffer(buffer).kind();
  return plan.early_buffer[buffer] && (kind == fb::BufferKind::input || kind == fb::BufferKind::output);
}

void find_callers_buffers(Plan& plan) {
  for (uint32_t i = 0; i < plan.early_buffer.size(); ++i) {
    if (is_callers(plan, i)) plan.io_buffers.push_back(i);
  }
  for (uint32_t i = 0; i < plan.operands.size(); ++i) {
    if (is_callers(plan, plan.operands[i])) plan.io_operands.push_back(i);
  }
}

bool depends_on_bind(const Plan& plan, const PlanStep& step) {
  bool late = is_work(step.kind) && !plan.early_slot[step.tasks_slot];
  if (step.kind == fb::StepKind::launch) late = late || !plan.early_slot[step.scratch_slot];
  for (uint32_t i = 0; i < step.operands; ++i) late = late || !plan.early_buffer[plan.operands[step.first_operand + i]];
  for (uint32_t i = 0; i < step.params; ++i) late = late || !plan.early_slot[plan.params[step.first_param + i]];
  return late;
}

PlanStep make_step(Plan& plan, const fb::Step& manifest) {
  PlanStep step{
      .kind = manifest.kind(), .value = manifest.value(), .tasks_slot = manifest.tasks(), .manifest = &manifest};
  step.first_operand = static_cast<uint32_t>(plan.operands.size());
  step.first_param = static_cast<uint32_t>(plan.params.size());
  for (const uint32_t buffer : span_of(manifest.operands())) plan.operands.push_back(buffer);
  for (const uint32_t slot : span_of(manifest.params())) plan.params.push_back(slot);
  step.operands = count_of(manifest.operands());
  step.params = count_of(manifest.params());
  if (step.kind == fb::StepKind::launch) {
    step.kernel = plan.manifest->kernels()->Get(manifest.kernel());
    step.scratch_slot = step.kernel->scratch();
  }
  step.late = depends_on_bind(plan, step);
  return step;
}

/// The copies of inputs and outputs are in the entry's first and last segments, or in empty ones of their own where
/// those decide.
void add_segments(Plan& plan, uint32_t begin, bool entry) {
  const uint32_t end = static_cast<uint32_t>(plan.steps.size());
  const auto works = [&](uint32_t i) { return begin < end && is_work(plan.steps[i].kind); };
  auto& segments = plan.segments;
  const size_t first = segments.size();
  if (entry && !works(begin)) segments.push_back({begin, begin, begin});
  for (uint32_t i = begin; i < end; ++i) {
    const bool work = is_work(plan.steps[i].kind);
    Segment* const last = segments.size() == first ? nullptr : &segments.back();
    if (work && last != nullptr && !last->decides && last->begin < i) {
      last->end = i + 1;
    } else {
      segments.push_back({begin, i, i + 1, !work});
    }
  }
  if (entry && begin < end && !works(end - 1)) segments.push_back({begin, end, end});
  if (entry) segments[first].inputs = segments.back().outputs = true;
  plan.segment_begin.push_back(static_cast<uint32_t>(segments.size()));
}

void add_sequence(Plan& plan, const fb::Sequence& sequence, bool entry) {
  const uint32_t begin = static_cast<uint32_t>(plan.steps.size());
  for (uint32_t i = 0; i < count_of(sequence.steps()); ++i) {
    plan.steps.push_back(make_step(plan, *sequence.steps()->Get(i)));
    const int32_t call = sequence.steps()->Get(i)->fallback_for();
    if (call >= 0) plan.steps.back().call = begin + static_cast<uint32_t>(call);
    if (plan.steps.back().late) plan.late_steps.push_back(static_cast<uint32_t>(plan.steps.size() - 1));
  }
  add_segments(plan, begin, entry);
  plan.sequence_begin.push_back(static_cast<uint32_t>(plan.steps.size()));
}

}  // namespace

bool writes_operand(const PlanStep& step, uint32_t position) {
  if (step.kind != fb::StepKind::launch && step.kind != fb::StepKind::call) return position == 0;
  const auto writes = span_of(step.manifest->writes());
  return writes.empty() || std::find(writes.begin(), writes.end(), position) != writes.end();
}

Plan make_plan(const fb::EntryPoint& entry, const fb::Plan& manifest) {
  Plan plan;
  plan.manifest = &manifest;
  plan.symbols = count_of(entry.symbols());
  plan.program = span_of(manifest.program());
  plan.early_slot = reachable_slots(plan.program, carried_symbols(entry));
  find_late_buffers(plan);
  plan.sequence_begin.push_back(0);
  plan.segment_begin.push_back(0);
  const uint32_t sequences = manifest.sequences()->size();
  for (uint32_t i = 0; i < sequences; ++i) add_sequence(plan, *manifest.sequences()->Get(i), i + 1 == sequences);
  find_callers_buffers(plan);
  return plan;
}

}  // namespace gart
