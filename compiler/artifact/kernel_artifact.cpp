#include "compiler/artifact/kernel_artifact.h"

#include "compiler/artifact/emit_artifact.h"
#include "compiler/kernel/library_algorithm.h"
#include "compiler/plan/overlap_launches.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/verify_plan.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// Builds the artifact: inputs, outputs, and a plan with their buffers.
class SingleStep {
 public:
  SingleStep(const std::string& name, const Target& target) : target_(target) {
    graph_.name = "main";
    model_ = name;
    plan_.device = target.device;
    plan_.target = 0;
  }

  BufferId add(DType dtype, const Shape& shape, bool written, const std::string& name) {
    Value value;
    value.name = name;
    value.dtype = dtype;
    value.shape = shape;
    std::vector<ValueId>& list = written ? graph_.outputs : graph_.inputs;
    const auto index = static_cast<int>(list.size());
    list.push_back(graph_.add_value(std::move(value)));
    const Buffer::Kind kind = written ? Buffer::Kind::output : Buffer::Kind::input;
    return plan_.buffers.push_back({kind, index, product(shape) * Dim(size_of(dtype)), nullptr, name});
  }

  Plan& plan() { return plan_; }

  /// Repeats the steps `times` times; each step waits for the one before it.
  std::vector<uint8_t> run(const std::vector<Step>& steps, int times, CompiledBlob blob) {
    auto& all = plan_.sequences[plan_.sequences.push_back({})].steps;
    for (int i = 0; i < times; ++i)
      for (const Step& step : steps) {
        const StepId before(static_cast<int64_t>(all.size()) - 1);
        all[all.push_back(step)].waits = before.valid() ? std::vector{before} : std::vector<StepId>();
      }
    overlap_launches(plan_);
    plan_memory(plan_, std::nullopt);
    verify_plan(plan_);
    const std::vector<TargetCode> code = {{target_, std::move(blob)}};
    return emit_artifact({{&graph_}, 1, {plan_}, {}, code, {}, {}}, {"gcc-graph 0.1.0", "", "", model_});
  }

 private:
  Target target_;
  std::string model_;
  Graph graph_;
  Plan plan_;
};

void check_closed(const std::string& name, const std::vector<Dim>& extents) {
  for (const Dim& extent : extents) GCG_CHECK(extent.is_constant(), "'", name, "' has the open extent ", extent.str());
}

/// Adds a buffer for each operand that is not a view.
std::vector<BufferId> add_operands(SingleStep& out, const Kernel& kernel) {
  std::vector<BufferId> of_operand(step_operands(kernel));
  for (size_t i = 0; i < of_operand.size(); ++i) {
    const Operand& operand = kernel.operands[i];
    check_closed(kernel.name, operand.shape);
    if (operand.flat_of < 0)
      of_operand[i] = out.add(operand.dtype, operand.shape, operand.written, concat("operand", i));
  }
  for (size_t i = 0; i < of_operand.size(); ++i)
    if (const int other = kernel.operands[i].flat_of; other >= 0)
      of_operand[i] = of_operand[static_cast<size_t>(other)];
  return of_operand;
}

/// The number of elements from the first element of the operand to the end of its tensor.
Dim elements_of(const LibraryTensor& t) {
  Dim elements = t.offset + Dim(1);
  for (size_t d = 0; d < t.extents.size(); ++d) elements = elements + (t.extents[d] - Dim(1)) * t.strides[d];
  return elements;
}

}  // namespace

std::vector<uint8_t> kernel_artifact(const Kernel& kernel, const Target& target, CompiledBlob blob, int launches) {
  SingleStep out(kernel.name, target);
  Launch launch{KernelId(0), add_operands(out, kernel), {}};
  for (size_t i = 0; i < launch.operands.size(); ++i)
    if (kernel.operands[i].written) launch.writes.push_back(static_cast<int>(i));
  std::vector<Step> steps;
  for (const CompiledKernel& code : blob.kernels) {
    launch.kernel = out.plan().kernels.push_back(kernel);
    launch.continues = !steps.empty();
    out.plan().code.push_back(code);
    steps.push_back({launch, kernel.name});
  }
  return out.run(steps, launches, std::move(blob));
}

std::vector<uint8_t> call_artifact(const LibraryCall& call, const Target& target, int launches) {
  SingleStep out(call.library, target);
  Call step{call, {}, {}, measured_algorithm(call, target), {}};
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    const Dim elements = elements_of(call.tensors[i]);
    check_closed(call.library, {elements});
    step.operands.push_back(out.add(call.tensors[i].dtype, {elements}, i == call.result(), concat("operand", i)));
  }
  return out.run({{std::move(step), call.library}}, launches, {});
}

}  // namespace gcg
