// Measures the candidates for a kernel on the GPU of this machine.
#pragma once

#include "compiler/kernel/backend.h"
#include "tools/api/tune/tuner.h"

namespace gcg::tune {

/// Wraps the backend that makes the code. compile() measures every candidate of each kernel, and compiles the kernel
/// with the fastest one.
class KernelTuner final : public Backend {
 public:
  /// All arguments must outlive this object.
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
