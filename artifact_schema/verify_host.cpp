// What a plan for a GPU leaves to the host's CPU: code for it, and steps that stay in the host's memory.
#include <utility>
#include <vector>

#include "artifact_schema/verify_internal.h"

namespace gart::verify {
namespace {

Status check_host_kernel(const PlanCheck& check, const fb::HostKernel& host, uint64_t code_bytes) {
  const fb::Kernel* kernel = host.kernel();
  if (kernel == nullptr) return failure("it has no kernel");
  if (Status status = check_place(*kernel, code_bytes, "its kernel"); !status.ok()) return status;
  if (Status status = check_string(check.budget, kernel->name(), "name"); !status.ok()) return status;
  if (Status status = check_string(check.budget, kernel->note(), "note"); !status.ok()) return status;
  if (Status status = check_index(kernel->scratch(), check.slots(), "scratch", "slots"); !status.ok()) return status;
  if (Status status = check_index(host.tasks(), check.slots(), "tasks", "slots"); !status.ok()) return status;
  if (kernel->params() != count_of(host.params()))
    return failure("it gives ", count_of(host.params()), " params to a kernel that takes ", kernel->params());
  if (count_of(host.params()) > kMaxHostParams)
    return failure("it has ", count_of(host.params()), " params, the limit is ", kMaxHostParams);
  return check_indices(check.budget, span_of(host.params()), check.slots(), "param", "slots");
}

Status check_code(const PlanCheck& check, const fb::HostCode& code, std::vector<uint8_t>& seen) {
  const auto& all = *check.artifact.manifest->targets();
  if (Status status = check_index(code.target(), all.size(), "target", "targets"); !status.ok()) return status;
  if (std::exchange(seen[code.target()], 1) != 0) return failure("target ", code.target(), " occurs twice");
  const fb::Target& target = *all.Get(code.target());
  if (target.kind() != fb::TargetKind::cpu) return failure("target ", code.target(), " is no CPU");
  const uint64_t code_bytes = target.code_section() >= 0 ? check.artifact.sections[target.code_section()].size : 0;
  const fb::HostCode& first = *check.plan.host_code()->Get(0);
  if (count_of(code.kernels()) != count_of(first.kernels()))
    return failure("it has ", count_of(code.kernels()), " kernels, the first one has ", count_of(first.kernels()));
  for (uint32_t i = 0; i < count_of(code.kernels()); ++i) {
    const fb::HostKernel& kernel = *code.kernels()->Get(i);
    if (Status status = check_host_kernel(check, kernel, code_bytes); !status.ok())
      return within(status, text("kernel ", i));
    if (kernel.kernel()->operands() != first.kernels()->Get(i)->kernel()->operands())
      return failure("kernel ", i, " takes ", kernel.kernel()->operands(), " operands, that of the first one ",
                     first.kernels()->Get(i)->kernel()->operands());
  }
  return {};
}

Status check_host_launch(const PlanCheck& check, const fb::Step& step) {
  if (step.kind() != fb::StepKind::launch)
    return failure("it is a ", fb::EnumNameStepKind(step.kind()), " on device 1");
  if (step.stands_in() != -1) return failure("it stands in for a call, but runs on device 1");
  if (count_of(check.plan.host_code()) == 0) return failure("it runs on device 1, but the plan has no code for it");
  const auto* kernels = check.plan.host_code()->Get(0)->kernels();
  if (Status status = check_index(step.kernel(), count_of(kernels), "kernel", "kernels"); !status.ok()) return status;
  const uint32_t operands = kernels->Get(step.kernel())->kernel()->operands();
  if (operands != count_of(step.operands()) || count_of(step.params()) != 0) {
    return failure("it gives ", count_of(step.operands()), " operands and ", count_of(step.params()),
                   " params to kernel ", step.kernel(), ", which takes ", operands, " and none of the step");
  }
  for (const uint32_t buffer : span_of(step.operands())) {
    if (check.buffer(buffer).place() != fb::Place::host)
      return failure("it runs on device 1, but buffer ", buffer, " is not in host memory");
  }
  return {};
}

Status need_on_device(const PlanCheck& check, int32_t buffer) {
  if (buffer < 0 || check.buffer(uint32_t(buffer)).place() == fb::Place::device) return {};
  return failure("it uses buffer ", buffer, ", which is in host memory");
}

}  // namespace

Status check_host_code(const PlanCheck& check) {
  if (count_of(check.plan.host_code()) == 0) return {};
  if (check.artifact.manifest->targets()->Get(check.plan.target())->kind() == fb::TargetKind::cpu)
    return failure("it has code for the host, but is for a CPU itself");
  std::vector<uint8_t> seen(check.artifact.manifest->targets()->size());
  for (uint32_t i = 0; i < check.plan.host_code()->size(); ++i) {
    Status status = check_code(check, *check.plan.host_code()->Get(i), seen);
    if (!status.ok()) return within(status, text("host code ", i));
  }
  return {};
}

Status check_buffer_place(const PlanCheck& check, const fb::Buffer& buffer) {
  if (buffer.place() > fb::Place::MAX) return failure("its place ", int(buffer.place()), " is not known");
  if (buffer.place() == fb::Place::device) return {};
  if (buffer.kind() != fb::BufferKind::temporary && buffer.kind() != fb::BufferKind::constant)
    return failure("it is an ", fb::EnumNameBufferKind(buffer.kind()), " in host memory");
  if (check.artifact.manifest->targets()->Get(check.plan.target())->kind() == fb::TargetKind::cpu)
    return failure("it is in host memory, but the plan is for a CPU");
  return {};
}

Status check_step_device(const PlanCheck& check, const fb::Step& step) {
  if (step.device() > 1) return failure("it runs on device ", step.device(), ", but there are only devices 0 and 1");
  if (step.device() == 1) return check_host_launch(check, step);
  const auto operands = span_of(step.operands());
  if (step.kind() == fb::StepKind::copy) {
    const bool both =
        check.buffer(operands[0]).place() == fb::Place::host && check.buffer(operands[1]).place() == fb::Place::host;
    return both ? failure("it copies from host memory to host memory") : Status{};
  }
  for (const uint32_t buffer : operands) {
    if (Status status = need_on_device(check, int32_t(buffer)); !status.ok()) return status;
  }
  const fb::Loop* loop = step.kind() == fb::StepKind::loop ? step.loop() : nullptr;
  if (loop == nullptr) return {};
  for (const int32_t buffer : {loop->trip_count(), loop->condition(), loop->iteration()}) {
    if (Status status = need_on_device(check, buffer); !status.ok()) return status;
  }
  for (const auto* carried : {loop->carried_from(), loop->carried_to()}) {
    for (const uint32_t buffer : span_of(carried)) {
      if (Status status = need_on_device(check, int32_t(buffer)); !status.ok()) return status;
    }
  }
  return {};
}

}  // namespace gart::verify
