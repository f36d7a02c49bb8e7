#include "runtime/cuda/graphs/plan_graphs.h"

#include <cstring>

#include "artifact_schema/kernel_abi.h"
#include "runtime/errors.h"
#include "runtime/step_errors.h"

namespace gart::cuda {

PlanGraphs::PlanGraphs(Device& device, const Plan& plan, CUfunction conditional_kernel)
    : device_(device), plan_(plan), segments_(plan.steps.size() + 1), words_(&device.pinned) {
  for (uint32_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    if (step.kind == fb::StepKind::launch ? step.kernel->may_fail() : step.kind == fb::StepKind::fail)
      may_fail_.push_back(i);
  }
  const size_t bytes = (may_fail_.size() + 1) * sizeof(uint32_t);
  words_.reserve(bytes);
  std::memset(words_.data(), 0, bytes);
  auto* word = reinterpret_cast<uint32_t*>(words_.data());
  if (conditional_kernel != nullptr && ConditionalGraph::can_hold(plan)) {
    conditional_ = std::make_unique<ConditionalGraph>(device, plan, conditional_kernel);
  }
  status_of_.assign(plan.steps.size(), word);
  for (const uint32_t step : may_fail_) status_of_[step] = ++word;
}

void PlanGraphs::rebind() {
  if (conditional_ != nullptr) conditional_->rebind();
  for (const auto& segment : segments_) {
    if (segment != nullptr) segment->rebind();
  }
}

SegmentGraph& PlanGraphs::segment(const Segment& segment) {
  auto& graph = segments_[segment.begin];
  if (graph == nullptr) graph = std::make_unique<SegmentGraph>(device_, plan_, segment);
  return *graph;
}

void PlanGraphs::check_statuses(const BoundPlan& bound) {
  const uint32_t* failed = nullptr;
  uint32_t code = 0;
  for (const uint32_t& step : may_fail_) {
    volatile uint32_t& status = *status_of_[step];
    if (status == GART_KERNEL_OK) continue;
    if (failed == nullptr) failed = &step, code = status;
    status = GART_KERNEL_OK;
  }
  if (failed == nullptr) return;
  const PlanStep& step = plan_.steps[*failed];
  if (step.kind != fb::StepKind::launch) throw Failure{fail_error(*step.manifest, bound.step(*failed).params)};
  std::vector<uint8_t> copy;
  throw Failure{kernel_error(bound, *failed, code, [&](uint32_t buffer) { return host_copy(bound, buffer, copy); })};
}

const void* PlanGraphs::host_copy(const BoundPlan& bound, uint32_t buffer, std::vector<uint8_t>& copy) const {
  const fb::BufferKind kind = plan_.buffer(plan_.base_of(buffer)).kind();
  if (kind != fb::BufferKind::input && kind != fb::BufferKind::constant) return nullptr;
  copy.resize(static_cast<size_t>(bound.bytes(buffer)));
  const auto from = reinterpret_cast<CUdeviceptr>(bound.address(buffer));
  const bool copied = device_.driver.cuMemcpyDtoHAsync_v2(copy.data(), from, copy.size(), nullptr) == CUDA_SUCCESS &&
                      device_.driver.cuStreamSynchronize(nullptr) == CUDA_SUCCESS;
  return copied ? copy.data() : nullptr;
}

}  // namespace gart::cuda
