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
  bool late = runs_in_team(step.kind) && !plan.early_slot[step.tasks_slot];
  if (step.kind == fb::StepKind::launch) late = late || !plan.early_slot[step.scratch_slot];
  for (uint32_t i = 0; i < step.operands; ++i) late = late || !plan.early_buffer[plan.operands[step.first_operand + i]];
  for (uint32_t i = 0; i < step.params; ++i) late = late || !plan.early_slot[plan.params[step.first_param + i]];
  return late;
}

gart_kernel function_of(const fb::Kernel& kernel, const CpuCode& code) {
  return reinterpret_cast<gart_kernel>(reinterpret_cast<uintptr_t>(code.blob + kernel.offset()));
}

/// What the plan's host code for this CPU says about the launch; null if there is none.
const fb::HostKernel* find_host_kernel(const Plan& plan, const fb::Step& step, const CpuCode& code) {
  for (uint32_t i = 0; i < count_of(plan.manifest->host_code()); ++i) {
    const fb::HostCode& host = *plan.manifest->host_code()->Get(i);
    if (host.target() == code.target && code.blob != nullptr) return host.kernels()->Get(step.kernel());
  }
  return nullptr;
}

void take_host_kernel(Plan& plan, PlanStep& step, const CpuCode& code) {
  step.on_host = true;
  const fb::HostKernel* host = find_host_kernel(plan, *step.manifest, code);
  if (host == nullptr) return;
  step.kernel = function_of(*host->kernel(), code);
  step.scratch_slot = host->kernel()->scratch();
  step.tasks_slot = host->tasks();
  for (const uint32_t slot : span_of(host->params())) plan.params.push_back(slot);
  step.params = count_of(host->params());
}

PlanStep make_step(Plan& plan, const fb::Step& manifest, const CpuCode& code) {
  PlanStep step{
      .kind = manifest.kind(), .value = manifest.value(), .tasks_slot = manifest.tasks(), .manifest = &manifest};
  step.first_operand = static_cast<uint32_t>(plan.operands.size());
  step.first_param = static_cast<uint32_t>(plan.params.size());
  for (const uint32_t buffer : span_of(manifest.operands())) plan.operands.push_back(buffer);
  for (const uint32_t slot : span_of(manifest.params())) plan.params.push_back(slot);
  step.operands = count_of(manifest.operands());
  step.params = count_of(manifest.params());
  if (manifest.device() != 0) {
    take_host_kernel(plan, step, code);
  } else if (step.kind == fb::StepKind::launch) {
    const fb::Kernel& kernel = *plan.manifest->kernels()->Get(manifest.kernel());
    if (code.blob != nullptr && code.target == plan.manifest->target()) step.kernel = function_of(kernel, code);
    step.scratch_slot = kernel.scratch();
  }
  step.late = depends_on_bind(plan, step);
  return step;
}

void add_sequence(Plan& plan, const fb::Sequence& sequence, const CpuCode& code) {
  const size_t begin = plan.steps.size();
  for (uint32_t i = 0; i < count_of(sequence.steps()); ++i) {
    plan.steps.push_back(make_step(plan, *sequence.steps()->Get(i), code));
    const int32_t call = sequence.steps()->Get(i)->stands_in();
    if (call >= 0) plan.steps.back().call = static_cast<uint32_t>(begin) + static_cast<uint32_t>(call);
    if (plan.steps.back().late) plan.late_steps.push_back(static_cast<uint32_t>(plan.steps.size() - 1));
  }
  for (size_t i = plan.steps.size(); i-- > begin;) {
    PlanStep& step = plan.steps[i];
    const PlanStep* next = i + 1 < plan.steps.size() ? &step + 1 : nullptr;
    const bool goes_on = next != nullptr && runs_in_team(next->kind) && next->on_host == step.on_host;
    step.run_end = goes_on ? next->run_end : static_cast<uint32_t>(i + 1);
    if (!runs_in_team(step.kind)) step.run_end = static_cast<uint32_t>(i);
  }
  plan.sequence_begin.push_back(static_cast<uint32_t>(plan.steps.size()));
}

}  // namespace

bool writes_operand(const PlanStep& step, uint32_t position) {
  if (step.kind != fb::StepKind::launch && step.kind != fb::StepKind::call) return position == 0;
  const auto writes = span_of(step.manifest->writes());
  return writes.empty() || std::find(writes.begin(), writes.end(), position) != writes.end();
}

Plan make_plan(const fb::EntryPoint& entry, const fb::Plan& manifest, const CpuCode& code) {
  Plan plan;
  plan.manifest = &manifest;
  plan.symbols = count_of(entry.symbols());
  plan.program = span_of(manifest.program());
  plan.early_slot = reachable_slots(plan.program, carried_symbols(entry));
  find_late_buffers(plan);
  plan.sequence_begin.push_back(0);
  for (uint32_t i = 0; i < manifest.sequences()->size(); ++i) add_sequence(plan, *manifest.sequences()->Get(i), code);
  find_callers_buffers(plan);
  return plan;
}

}  // namespace gart
