#include "compiler/plan/select_code.h"

#include <algorithm>
#include <map>
#include <ostream>

#include "compiler/support/error.h"

namespace gcg {
namespace {

const Backend& backend_for(const Target& target, const std::vector<std::unique_ptr<Backend>>& backends) {
  for (const auto& b : backends)
    if (b->device() == target.device) return *b;
  fail("no code generator for target '", target.name, "' is built in");
}

bool has_control_flow(const Plan& plan) {
  for (const Sequence& sequence : plan.sequences)
    for (const Step& step : sequence.steps)
      if (!step.bodies().empty()) return true;
  return false;
}

/// The distinct kernels of several plans.
class DistinctKernels {
 public:
  /// Returns the indices of the kernels in `all`.
  std::vector<size_t> add(const IndexedVector<KernelId, Kernel>& kernels) {
    std::vector<size_t> numbers;
    for (const Kernel& k : kernels) {
      const auto [it, fresh] = known_.try_emplace(key(k), all.size());
      if (fresh) all.push_back(&k);
      numbers.push_back(it->second);
    }
    return numbers;
  }
  std::vector<const Kernel*> all;

 private:
  std::map<std::string, size_t> known_;
};

/// The distinct kernels of the plans of one target.
struct TargetKernels {
  TargetKernels(int target, const std::vector<Plan>& plans) {
    for (const Plan& p : plans) numbers.push_back(p.target == target ? distinct.add(p.kernels) : std::vector<size_t>());
  }
  DistinctKernels distinct;
  std::vector<std::vector<size_t>> numbers;  // by plan, by kernel: its index in `distinct`
};

/// Stores the code of its kernels in a plan.
class CodeOfPlan {
 public:
  CodeOfPlan(Plan& plan, const CompiledBlob& blob, const std::vector<size_t>& numbers) : plan_(plan), blob_(blob) {
    for (size_t number : numbers) plan.code.push_back(blob.kernels[number]);
  }

  void run() {
    for (KernelId k : plan_.kernels.ids()) add_followers(k);
    if (followers_.empty()) return;
    for (Sequence& sequence : plan_.sequences) sequence = with_followers(std::move(sequence));
  }

 private:
  /// Adds a kernel to the plan for each launch that must follow kernel `k` (CompiledKernel::then). Each of these
  /// launches does a part of the work of `k`.
  void add_followers(KernelId k) {
    for (int next = plan_.code[k].then; next >= 0; next = blob_.kernels[static_cast<size_t>(next)].then) {
      plan_.code.push_back(blob_.kernels[static_cast<size_t>(next)]);
      const Kernel work = plan_.kernels[k];
      followers_[k].push_back(plan_.kernels.push_back(work));
    }
  }

  std::vector<Launch> followers_of(const Launch& launch) const {
    std::vector<Launch> out;
    const auto it = followers_.find(launch.kernel);
    if (it == followers_.end()) return out;
    for (KernelId kernel : it->second) {
      out.push_back(launch);
      out.back().kernel = kernel;
      out.back().continues = true;
    }
    return out;
  }

  Sequence with_followers(Sequence sequence) const {
    Sequence out;
    std::vector<StepId> done;  // by old step: the new step that completes its work
    for (Step& step : sequence.steps) {
      for (StepId& w : step.waits) w = done[static_cast<size_t>(w.index)];
      std::vector<Launch> rest;
      if (const auto* launch = step.as<Launch>()) rest = followers_of(*launch);
      if (auto* call = step.as<Call>(); call != nullptr && !call->fallback.empty())
        for (Launch& l : followers_of(call->fallback.front())) call->fallback.push_back(std::move(l));
      const std::string source = step.source;
      StepId last = out.steps.push_back(std::move(step));
      for (Launch& l : rest) last = out.steps.push_back({std::move(l), source, {last}});
      done.push_back(last);
    }
    return out;
  }

  Plan& plan_;
  const CompiledBlob& blob_;
  std::map<KernelId, std::vector<KernelId>> followers_;
};

}  // namespace

CompiledBlob select_code(const Target& target, int number, std::vector<Plan>& plans,
                         const std::vector<std::unique_ptr<Backend>>& backends, int threads) {
  const TargetKernels kernels(number, plans);
  const auto is_own = [&](const Plan& p) { return p.target == number; };
  const Backend& backend = backend_for(target, backends);
  CompiledBlob blob = backend.compile(kernels.distinct.all, target, threads);
  if (std::any_of(plans.begin(), plans.end(), [&](const Plan& p) { return is_own(p) && has_control_flow(p); }))
    backend.add_conditional_kernel(blob, target);
  for (size_t p = 0; p < plans.size(); ++p)
    if (is_own(plans[p])) CodeOfPlan(plans[p], blob, kernels.numbers[p]).run();
  return blob;
}

void print_sources(const Target& target, int number, const std::vector<Plan>& plans,
                   const std::vector<std::unique_ptr<Backend>>& backends, std::ostream& out) {
  const TargetKernels kernels(number, plans);
  const Backend& backend = backend_for(target, backends);
  for (size_t k = 0; k < kernels.distinct.all.size(); ++k) {
    const Kernel& kernel = *kernels.distinct.all[k];
    out << "source " << target.name << " k" << k << " '" << kernel.name << "'\n"
        << backend.source(kernel, target) << '\n';
  }
}

}  // namespace gcg
