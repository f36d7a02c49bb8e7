#include "runtime/cuda/libraries/libraries.h"

#include <algorithm>

#include "runtime/errors.h"

namespace gart::cuda {
namespace {

/// If there are more shapes, the plans made so far are discarded. Steps that use a plan keep it.
constexpr size_t kMostPlans = 4096;

struct Known {
  const char* name;
  std::unique_ptr<Library> (*open)(Device&, std::string&);
};
constexpr Known kKnown[] = {{"cublasLt", open_cublaslt}, {"cudnn", open_cudnn}};

bool has_fallback(const Plan& plan, uint32_t call) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const PlanStep& step) { return step.call == call; });
}

std::string found(uint64_t version) { return text("the installed version is ", library_version_text(version)); }

}  // namespace

Libraries::LoadedLibrary Libraries::open(const fb::Library& required) {
  LoadedLibrary loaded;
  for (const Known& known : kKnown) {
    if (view_of(required.name()) == known.name) loaded.library = known.open(device_, loaded.reason);
  }
  if (loaded.library == nullptr) {
    if (loaded.reason.empty()) loaded.reason = "this runtime does not support it";
    return loaded;
  }
  const uint64_t version = loaded.library->version();
  if (version < required.oldest() || version >= required.below()) {
    return {nullptr, found(version)};
  }
  try {
    loaded.library->start();
  } catch (const Failure& failure) {
    if (failure.error.code != ErrorCode::unsupported) throw;
    return {nullptr, failure.error.message};
  }
  return loaded;
}

const Libraries::LoadedLibrary& Libraries::open(const fb::Manifest& manifest, uint32_t index) {
  const auto known = opened_.find(index);
  return known != opened_.end() ? known->second
                                : opened_.emplace(index, open(*manifest.libraries()->Get(index))).first->second;
}

void Libraries::open(const fb::Manifest& manifest, Plan& plan) {
  for (uint32_t i = 0; i < plan.steps.size(); ++i) {
    PlanStep& step = plan.steps[i];
    if (step.kind == fb::StepKind::launch && step.call < i) step.off = !plan.steps[step.call].off;
    if (step.kind != fb::StepKind::call) continue;
    const uint32_t index = step.manifest->call()->library();
    const LoadedLibrary& loaded = open(manifest, index);
    const uint32_t oldest = step.manifest->call()->oldest();
    const bool too_old = loaded.library != nullptr && loaded.library->version() < oldest;
    step.off = loaded.library == nullptr || too_old;
    if (!step.off || has_fallback(plan, i)) continue;
    const fb::Library& required = *manifest.libraries()->Get(index);
    fail(ErrorCode::unsupported, "the model needs ", view_of(required.name()), " from ",
         library_version_text(std::max(oldest, required.oldest())), " on and below ",
         library_version_text(required.below()), " for step '", view_of(step.manifest->source()),
         "', but: ", too_old ? found(loaded.library->version()) : loaded.reason);
  }
}

void Libraries::settle(BoundPlan& bound) {
  const Plan& steps = bound.plan();
  for (uint32_t i = 0; i < steps.steps.size(); ++i) {
    const PlanStep& step = steps.steps[i];
    if (step.kind != fb::StepKind::call || step.off || step.run_bound || bound.step(i).tasks == 0) continue;
    try {
      plan(make_call_problem(steps, bound, i));
    } catch (const Failure& failure) {
      if (failure.error.code != ErrorCode::unsupported || !has_fallback(steps, i)) throw;
      bound.refuse_call(i);
    }
  }
}

std::shared_ptr<CallPlan> Libraries::plan(const CallProblem& problem) {
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> key = problem.key();
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
  if (plans_.size() >= kMostPlans) plans_.clear();
  std::shared_ptr<CallPlan> plan = opened_.at(problem.call->library()).library->plan(problem);
  plans_.emplace(std::move(key), plan);
  return plan;
}

CUgraph Libraries::record(CallPlan& plan, const std::vector<void*>& data, void* workspace, const std::string& step) {
  const std::lock_guard lock(mutex_);
  return plan.record(data, workspace, step);
}

}  // namespace gart::cuda
