// Measures the ways of the libraries here to do a call on the GPU that is present.
#pragma once

#include <map>
#include <memory>

#include "compiler/kernel/library_call.h"
#include "compiler/kernel/target.h"
#include "runtime/cuda/libraries/library.h"
#include "tools/api/tune/tuner.h"

namespace gcg::tune {

/// A binder around the one that finds the calls: each call that it finds is measured with every algorithm that its
/// library proposes.
class CallTuner final : public LibraryBinder {
 public:
  /// Throws CompileError where the GPU cannot be used. The tuner must outlive this.
  CallTuner(std::shared_ptr<const LibraryBinder> binder, const Target& target, Tuner& tuner);

  std::optional<LibraryCall> bind(const Kernel& kernel) const override;

  /// Library -> why its calls, or some of them, were not measured.
  const std::map<std::string, std::string>& refusals() const { return refusals_; }

 private:
  struct Opened {
    std::unique_ptr<gart::cuda::Library> library;  // null: it is not to be had
    std::vector<std::vector<int64_t>> (*algorithms)(gart::cuda::Library&, const gart::cuda::CallProblem&,
                                                    size_t) = nullptr;
  };

  void tune(const LibraryCall& call, Decision decision) const;
  /// What the library proposes; empty: nothing, and refusals_ says why.
  std::vector<LibraryAlgorithm> propose(const LibraryCall& call) const;
  Opened& open(const std::string& name) const;

  const std::shared_ptr<const LibraryBinder> binder_;
  const Target target_;
  Tuner& tuner_;
  const std::unique_ptr<gart::cuda::Device> device_;
  mutable std::map<std::string, Opened> opened_;
  mutable std::map<std::string, std::string> refusals_;
};

}  // namespace gcg::tune
