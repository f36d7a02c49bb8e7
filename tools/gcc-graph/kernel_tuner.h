// Measures the ways to compute a kernel on the GPU that is present.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "compiler/kernel/backend.h"
#include "tools/gcc-graph/tuning_file.h"

namespace gcg::tools {

struct TuneOptions {
  double seconds = 0.05;  // of measuring per candidate
  int launches = 20;      // of the kernel in one run
  bool again = false;     // measure what the file has, too
};

/// A backend around the one that makes the code: each kernel that it is asked to compile is measured in every candidate,
/// and the fastest one goes into the file. What it returns is compiled with the choices made.
class KernelTuner final : public Backend {
 public:
  using Report = std::function<void(const std::string&)>;

  /// Throws CompileError where there is no GPU. All arguments must outlive the tuner.
  KernelTuner(const Backend& backend, TuningFile& file, const TuneOptions& options, Report report);

  DeviceClass device() const override { return backend_.device(); }
  CompiledBlob compile(const std::vector<const Kernel*>& kernels, const Target& target, int threads) const override;
  void add_steering(CompiledBlob& blob, const Target& target) const override { backend_.add_steering(blob, target); }

  /// Distinct shapes measured; found in the file; not measured since an extent is open.
  size_t measured() const { return measured_; }
  size_t known() const { return known_; }
  size_t open() const { return open_; }

 private:
  void tune(const Kernel& kernel, const Target& target, const Decision& decision) const;
  double microseconds(const Kernel& kernel, const Target& target, const Decision& decision, size_t candidate) const;

  const Backend& backend_;
  TuningFile& file_;
  TuneOptions options_;
  Report report_;
  std::string device_, driver_;
  mutable std::set<std::string> seen_;
  mutable size_t measured_ = 0, known_ = 0, open_ = 0;
};

/// The target whose code the first GPU runs best: "sm_90a". Throws CompileError where there is no GPU.
std::string target_of_gpu();

}  // namespace gcg::tools
