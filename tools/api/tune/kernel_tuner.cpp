#include "tools/api/tune/kernel_tuner.h"

#include "compiler/artifact/kernel_artifact.h"

namespace gcg::tune {
namespace {

/// Without arguments, records the first decision that is requested. Otherwise answers the decision `about` with a given
/// candidate.
class OneDecision final : public Decisions {
 public:
  OneDecision() = default;
  OneDecision(const Decision& about, size_t candidate) : decision_(about), candidate_(candidate) {}

  std::optional<size_t> choose(const Decision& decision) const override {
    if (candidate_ && decision.kernel == decision_->kernel && decision.shape == decision_->shape) return candidate_;
    if (!decision_) decision_ = decision;
    return std::nullopt;
  }
  const std::optional<Decision>& decision() const { return decision_; }

 private:
  mutable std::optional<Decision> decision_;
  std::optional<size_t> candidate_;
};

bool is_open(const Kernel& kernel) {
  for (const Operand& operand : kernel.operands)
    for (const Dim& extent : operand.shape)
      if (!extent.is_constant()) return true;
  return false;
}

}  // namespace

CompiledBlob KernelTuner::compile(const std::vector<const Kernel*>& kernels, const Target& target, int threads) const {
  Target asking = target;
  for (const Kernel* kernel : kernels) {
    const OneDecision first;
    asking.decisions = &first;
    backend_.compile({kernel}, asking, 1);
    if (!first.decision()) continue;
    if (is_open(*kernel)) {
      tuner_.leave_open(key(*kernel));
    } else if (tuner_.wants(*first.decision())) {
      tune(*kernel, target, *first.decision());
    }
  }
  asking.decisions = &tuner_.file();
  return backend_.compile(kernels, asking, threads);
}

void KernelTuner::tune(const Kernel& kernel, const Target& target, const Decision& decision) const {
  tuner_.decide(decision, [&](size_t candidate) {
    Target asking = target;
    const OneDecision forced(decision, candidate);
    asking.decisions = &forced;
    return kernel_artifact(kernel, target, backend_.compile({&kernel}, asking, 1), tuner_.options().launches);
  });
}

}  // namespace gcg::tune
