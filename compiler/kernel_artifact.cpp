#include "compiler/kernel_artifact.h"

#include "compiler/emit_artifact.h"
#include "compiler/schedule/schedule.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// The graph's inputs and outputs: an operand that is a view of another one is none.
Graph operand_graph(const Kernel& kernel) {
  Graph graph;
  graph.name = "main";
  for (size_t i = 0; i < kernel.operands.size(); ++i) {
    const Operand& operand = kernel.operands[i];
    if (operand.flat_of >= 0 || operand.array) continue;
    Value value;
    value.name = concat("operand", i);
    value.dtype = operand.dtype;
    value.shape = operand.shape;
    (operand.written ? graph.outputs : graph.inputs).push_back(graph.add_value(std::move(value)));
  }
  return graph;
}

/// A buffer for each operand that is no view, in their order, and the number of each operand's buffer.
std::vector<BufferId> add_buffers(Schedule& schedule, const Kernel& kernel) {
  std::vector<BufferId> of_operand(static_cast<size_t>(step_operands(kernel)));
  int inputs = 0, outputs = 0;
  for (size_t i = 0; i < of_operand.size(); ++i) {
    const Operand& operand = kernel.operands[i];
    if (operand.flat_of >= 0) continue;
    Buffer buffer;
    buffer.kind = operand.written ? Buffer::Kind::output : Buffer::Kind::input;
    buffer.index = operand.written ? outputs++ : inputs++;
    buffer.name = concat("operand", i);
    buffer.bytes = size_of(operand.dtype);
    for (const Dim& extent : operand.shape) buffer.bytes = buffer.bytes * extent;
    of_operand[i] = BufferId{static_cast<int>(schedule.buffers.size())};
    schedule.buffers.push_back(std::move(buffer));
  }
  for (size_t i = 0; i < of_operand.size(); ++i)
    if (const int other = kernel.operands[i].flat_of; other >= 0) of_operand[i] = of_operand[static_cast<size_t>(other)];
  return of_operand;
}

Schedule launch_repeatedly(const Kernel& kernel, int launches) {
  Schedule schedule;
  schedule.kernels.push_back(kernel);
  Step step;
  step.kernel = KernelId{0};
  step.operands = add_buffers(schedule, kernel);
  step.source = kernel.name;
  for (size_t i = 0; i < step.operands.size(); ++i)
    if (kernel.operands[i].written) step.writes.push_back(static_cast<int>(i));
  Sequence& sequence = schedule.sequences.emplace_back();
  for (int i = 0; i < launches; ++i) {
    if (i > 0) step.waits = {StepId{i - 1}};
    sequence.steps.push_back(step);
  }
  plan_memory(schedule, std::nullopt);
  verify_schedule(schedule);
  return schedule;
}

void check_closed(const std::string& name, const std::vector<Dim>& extents) {
  for (const Dim& extent : extents) GCG_CHECK(extent.is_constant(), "'", name, "' has the open extent ", extent.str());
}

/// A kernel whose operands are the tensors of the call, which does its work. Makes the call's operands those.
Kernel carrier_of(LibraryCall& call) {
  Kernel kernel;
  kernel.name = call.library;
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    LibraryTensor& t = call.tensors[i];
    Dim elements = t.offset + Dim(1);
    for (size_t d = 0; d < t.extents.size(); ++d) elements = elements + (t.extents[d] - Dim(1)) * t.strides[d];
    check_closed(call.library, {elements});
    t.operand = static_cast<int>(i);
    t.untransposed = t.rounded = false;
    kernel.operands.push_back({t.dtype, {elements}, i == call.result()});
  }
  return kernel;
}

std::vector<uint8_t> artifact_of(const Kernel& kernel, const ShapePlan& plan, TargetCode code) {
  return emit_artifact(operand_graph(kernel), {plan}, {}, {std::move(code)}, {"gcc-graph 0.1.0", "", "", kernel.name}).bytes;
}

}  // namespace

std::vector<uint8_t> kernel_artifact(const Kernel& kernel, const Target& target, CompiledBlob blob, int launches) {
  for (const Operand& operand : kernel.operands) check_closed(kernel.name, operand.shape);
  return artifact_of(kernel, {target.device, {}, launch_repeatedly(kernel, launches)}, {target, std::move(blob), {{0}}});
}

std::vector<uint8_t> call_artifact(const LibraryCall& call, const Target& target, int launches) {
  LibraryCall alone = call;
  const Kernel kernel = carrier_of(alone);
  ShapePlan plan{target.device, {}, launch_repeatedly(kernel, launches)};
  plan.calls = {std::move(alone)};
  return artifact_of(kernel, plan, {target, {}, {{kNoKernel}}});
}

}  // namespace gcg
