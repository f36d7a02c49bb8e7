// Measures the ways to compute a kernel on the GPU that is present.
#pragma once

#include "compiler/kernel/backend.h"
#include "tools/api/tune/tuner.h"

namespace gcg::tune {

/// A backend around the one that makes the code: each kernel that it is asked to compile is measured in every
/// candidate. What it returns is compiled with the choices made.
class KernelTuner final : public Backend {
 public:
  /// All arguments must outlive this.
  KernelTuner(const Backend& backend, Tuner& tuner) : backend_(backend), tuner_(tuner) {}

  DeviceClass device() const override { return backend_.device(); }
  CompiledBlob compile(const std::vector<const Kernel*>& kernels, const Target& target, int threads) const override;
  void add_conditional_kernel(CompiledBlob& blob, const Target& target) const override {
    backend_.add_conditional_kernel(blob, target);
  }

 private:
  void tune(const Kernel& kernel, const Target& target, const Decision& decision) const;

  const Backend& backend_;
  Tuner& tuner_;
};

}  // namespace gcg::tune
