#include "tools/api/tune/call_tuner.h"

#include "compiler/artifact/emit_step.h"
#include "compiler/artifact/kernel_artifact.h"
#include "compiler/kernel/library_algorithm.h"
#include "compiler/support/error.h"
#include "runtime/errors.h"

namespace gcg::tune {
namespace {

using gart::cuda::CallProblem;
using gart::cuda::CallTensor;

constexpr size_t kMostAlgorithms = 16;

/// Answers every decision with the same algorithm.
class OneAlgorithm final : public Decisions {
 public:
  explicit OneAlgorithm(const LibraryAlgorithm& algorithm) : algorithm_(algorithm) {}
  std::optional<LibraryAlgorithm> algorithm(const Decision&) const override { return algorithm_; }

 private:
  const LibraryAlgorithm& algorithm_;
};

std::unique_ptr<gart::cuda::Device> open_device() {
  const auto driver = gart::cuda::open_driver();
  if (!driver.ok()) fail(driver.error().message);
  try {
    return std::make_unique<gart::cuda::Device>(**driver, 0);
  } catch (const gart::Failure& failure) {
    fail(failure.error.message);
  }
}

std::vector<int64_t> constants(const std::vector<Dim>& dims) {
  std::vector<int64_t> out;
  for (const Dim& d : dims) out.push_back(d.constant());
  return out;
}

/// The call in the form that the runtime passes to the library.
struct Problem {
  Problem(const LibraryCall& call, const Target& target) {
    builder.Finish(gart::fb::Call::Pack(builder, call_table(call, 0, target).get()));
    problem.call = flatbuffers::GetRoot<gart::fb::Call>(builder.GetBufferPointer());
    problem.step = "a call to be measured";
    for (const LibraryTensor& t : call.tensors)
      problem.tensors.push_back(CallTensor{static_cast<gart::fb::DType>(t.dtype), t.offset.constant(),
                                           constants(t.extents), constants(t.strides)});
  }
  flatbuffers::FlatBufferBuilder builder;
  CallProblem problem = {};
};

}  // namespace

CallTuner::CallTuner(std::shared_ptr<const LibraryBinder> binder, const Target& target, Tuner& tuner)
    : binder_(std::move(binder)), target_(target), tuner_(tuner), device_(open_device()) {}

std::optional<LibraryCall> CallTuner::bind(const Kernel& kernel) const {
  auto call = binder_->bind(kernel);
  if (!call || target_.sm < call->least_sm) return call;
  const auto decision = decision_about(*call, target_);
  if (!decision) {
    tuner_.leave_open(key(kernel));
  } else if (tuner_.wants(*decision)) {
    tune(*call, *decision);
  }
  return call;
}

void CallTuner::tune(const LibraryCall& call, Decision decision) const {
  const std::vector<LibraryAlgorithm> algorithms = propose(call);
  if (algorithms.empty()) return;
  for (const LibraryAlgorithm& a : algorithms) decision.candidates.push_back(describe(a));
  tuner_.decide(decision, [&](size_t candidate) {
    Target asking = target_;
    const OneAlgorithm forced(algorithms[candidate]);
    asking.decisions = &forced;
    return call_artifact(call, asking, tuner_.options().launches);
  });
}

std::vector<LibraryAlgorithm> CallTuner::propose(const LibraryCall& call) const {
  try {
    const gart::cuda::CurrentContext current(*device_);
    LoadedLibrary& loaded = open(call.library);
    if (!loaded.library) return {};
    const uint64_t version = loaded.library->version();
    if (version < call.oldest || version >= call.below) {
      refusals_[call.library] = concat("the installed version is ", gart::cuda::library_version_text(version));
      return {};
    }
    const Problem problem(call, target_);
    std::vector<LibraryAlgorithm> all;
    for (auto& config : loaded.algorithms(*loaded.library, problem.problem, kMostAlgorithms))
      all.push_back({static_cast<uint32_t>(version), std::move(config)});
    return all;
  } catch (const gart::Failure& failure) {
    if (failure.error.code != gart::ErrorCode::unsupported) fail(failure.error.message);
    refusals_[call.library] = failure.error.message;
    return {};
  }
}

CallTuner::LoadedLibrary& CallTuner::open(const std::string& name) const {
  const auto [it, fresh] = opened_.try_emplace(name);
  if (!fresh) return it->second;
  LoadedLibrary& loaded = it->second;
  const bool products = name == "cublasLt";
  loaded.algorithms = products ? gart::cuda::cublaslt_algorithms : gart::cuda::cudnn_algorithms;
  std::string reason;
  auto library = products ? gart::cuda::open_cublaslt(*device_, reason) : gart::cuda::open_cudnn(*device_, reason);
  if (!library) {
    refusals_[name] = reason;
    return loaded;
  }
  library->start();
  loaded.library = std::move(library);
  return loaded;
}

}  // namespace gcg::tune
