#include "runtime/cuda/session.h"

#include <algorithm>
#include <cstring>

#include "runtime/cpu/execution.h"
#include "runtime/cuda/execution.h"
#include "runtime/errors.h"
#include "runtime/step_errors.h"

namespace gart::cuda {

PlanGraphs::PlanGraphs(Device& device, const Plan& plan, CUfunction steering)
    : device_(device), plan_(plan), segments_(plan.steps.size() + 1), words_(&device.pinned) {
  for (uint32_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    if (step.on_host) continue;
    const bool launch = step.kind == fb::StepKind::launch;
    if (launch ? plan.manifest->kernels()->Get(step.manifest->kernel())->may_fail() : step.kind == fb::StepKind::fail) {
      may_fail_.push_back(i);
    }
  }
  const size_t bytes = (may_fail_.size() + 1) * sizeof(uint32_t);
  words_.reserve(bytes);
  std::memset(words_.data(), 0, bytes);
  auto* word = reinterpret_cast<uint32_t*>(words_.data());
  if (steering != nullptr && SteeredGraph::can_hold(plan)) {
    steered_ = std::make_unique<SteeredGraph>(device, plan, steering);
  }
  status_of_.assign(plan.steps.size(), word);
  for (const uint32_t step : may_fail_) status_of_[step] = ++word;
}

void PlanGraphs::rebind() {
  if (steered_ != nullptr) steered_->rebind();
  for (const auto& segment : segments_) {
    if (segment != nullptr) segment->rebind();
  }
}

SegmentGraph& PlanGraphs::segment(const Segment& segment) {
  auto& graph = segments_[segment.steps.begin];
  if (graph == nullptr) graph = std::make_unique<SegmentGraph>(device_, plan_, segment);
  return *graph;
}

Result<void> PlanGraphs::check_statuses(const BoundPlan& bound) {
  const uint32_t* failed = nullptr;
  uint32_t code = 0;
  for (const uint32_t& step : may_fail_) {
    volatile uint32_t& status = *status_of_[step];
    if (status == GART_KERNEL_OK) continue;
    if (failed == nullptr) failed = &step, code = status;
    status = GART_KERNEL_OK;
  }
  if (failed == nullptr) return {};
  const PlanStep& step = plan_.steps[*failed];
  if (step.kind == fb::StepKind::launch) return kernel_error(*step.manifest, code);
  const int64_t* params = bound.step(*failed).params;
  return step.params == 0 ? fail_error(*step.manifest, 0, 0) : fail_error(*step.manifest, params[0], params[1]);
}

Session::Session(Program& program)
    : program_(program),
      device_(program.device()),
      site_{device_.name.c_str(), &device_.memory, &device_.pinned},
      stream_(device_),
      done_(device_),
      workspace_(&device_.memory),
      word_(&device_.pinned),
      host_arena_(&device_.pinned) {
  word_.reserve(sizeof(int64_t));
}

void Session::drain() noexcept {
  if (!running_) return;
  const CurrentContext current(device_, std::nothrow);
  recorded_ ? device_.driver.cuEventSynchronize(done_.handle) : device_.driver.cuStreamSynchronize(running_on_);
  running_ = false;
}

void Session::synchronize() {
  const CUresult result = recorded_ ? device_.driver.cuEventSynchronize(done_.handle)
                                    : device_.driver.cuStreamSynchronize(running_on_);
  if (result == CUDA_SUCCESS) return;
  device_.check(result, recorded_ ? "cuEventSynchronize" : "cuStreamSynchronize", enqueued_text());
}

std::string Session::enqueued_text() const {
  if (enqueued_plan_ == nullptr) return {};
  const std::string steps = steps_text(*enqueued_plan_, enqueued_begin_, enqueued_end_);
  return enqueued_end_ - enqueued_begin_ < 2 ? steps : steps + " (loaded with `blocking`, the model would say which)";
}

void Session::note_enqueued(const Plan& plan, uint32_t begin, uint32_t end) {
  enqueued_begin_ = enqueued_plan_ == &plan ? std::min(enqueued_begin_, begin) : begin;
  enqueued_end_ = enqueued_plan_ == &plan ? std::max(enqueued_end_, end) : end;
  enqueued_plan_ = &plan;
}

void Session::settle() {
  if (!running_) return;
  const CurrentContext current(device_);
  synchronize();
  running_ = false;
  forget_enqueued();
  Result<void> result = static_cast<PlanGraphs&>(*running_plan_->graphs).check_statuses(*running_plan_);
  if (!result && !failed_) failed_ = result.error();
}

void Session::order_behind_last_run(CUstream stream, bool needs_staging) {
  if (!running_) return;
  if (needs_staging || !recorded_) return settle();
  if (stream != running_on_) GART_CUDA(device_, cuStreamWaitEvent, stream, done_.handle, 0u);
}

void Session::abandon() noexcept {
  try {
    settle();
  } catch (...) {
    running_ = false;
  }
}

PlanGraphs& Session::graphs_of(BoundPlan& plan, Inputs& inputs, Outputs& outputs) {
  if (plan.graphs == nullptr) {
    plan.graphs = std::make_unique<PlanGraphs>(device_, plan.plan(), program_.blocking() ? nullptr : program_.steering());
  }
  if (!std::exchange(plan.calls_settled, true)) program_.libraries().settle(plan);
  auto& graphs = static_cast<PlanGraphs&>(*plan.graphs);
  inputs.use_in_place(graphs.steered() == nullptr ? kAlignment : 0);
  outputs.use_in_place(graphs.steered() == nullptr ? kAlignment : 0);
  return graphs;
}

Result<void> Session::link(BoundPlan& plan, Inputs& inputs, Outputs& outputs, Block& arena) {
  if (std::exchange(arena_, arena.data()) != arena.data()) ++generation_;
  const size_t host_bytes = static_cast<size_t>(plan.host_arena_bytes());
  if (host_bytes > host_arena_.capacity()) {
    settle();
    if (host_arena_.reserve(host_bytes)) ++generation_;
  }
  return plan.link({program_.weights(), arena.data(), program_.prepared(), program_.host_weights().data(), host_arena_.data()},
                   inputs, outputs);
}

Result<void> Session::run_on_host(BoundPlan& plan, Outputs& outputs, uint32_t begin, uint32_t end) {
  const TeamLease team(program_.host().team);
  return gart::Execution({plan, outputs, host_scratch_, team.get(), program_.host().imports}).run_steps(begin, end);
}

Result<void> Session::prepare(BoundPlan& plan, Inputs& inputs, Outputs& outputs, Block& arena) {
  const CurrentContext current(device_);
  PlanGraphs& graphs = graphs_of(plan, inputs, outputs);
  inputs.expect(plan.inputs());
  GART_TRY(link(plan, inputs, outputs, arena));
  Execution({*this, plan, graphs, inputs, outputs, stream_.handle}).prepare();
  return {};
}

Result<void> Session::start(BoundPlan& plan, Inputs& inputs, Outputs& outputs, Block& arena, void* user_stream,
                            bool own_stream) {
  const CurrentContext current(device_);
  const CUstream stream = own_stream ? stream_.handle : static_cast<CUstream>(user_stream);
  order_behind_last_run(stream, own_stream || inputs.any_on_host() || outputs.any_on_host());
  PlanGraphs& graphs = graphs_of(plan, inputs, outputs);
  inputs.stage();
  GART_TRY(link(plan, inputs, outputs, arena));
  running_ = true;
  recorded_ = false;
  running_on_ = stream;
  running_plan_ = &plan;
  if (own_stream) return Execution({*this, plan, graphs, inputs, outputs, stream}).run();
  try {
    Result<void> result = Execution({*this, plan, graphs, inputs, outputs, stream}).run();
    GART_CUDA(device_, cuEventRecord, done_.handle, stream);
    recorded_ = true;
    return result;
  } catch (...) {
    abandon();
    throw;
  }
}

Result<void> Session::finish() {
  settle();
  if (!failed_) return {};
  Error failed = std::move(*failed_);
  failed_.reset();
  return failed;
}

}  // namespace gart::cuda
