// Measures the algorithms that libraries offer for a call, on the GPU of this machine.
#pragma once

#include <map>
#include <memory>

#include "compiler/kernel/library_call.h"
#include "compiler/kernel/target.h"
#include "runtime/cuda/libraries/library.h"
#include "tools/api/tune/tuner.h"

namespace gcg::tune {

/// Wraps the binder that finds library calls. Measures each of these calls with every algorithm that the library
/// proposes.
class CallTuner final : public LibraryBinder {
 public:
  /// Throws CompileError if the GPU cannot be used. The tuner must outlive this object.
  CallTuner(std::shared_ptr<const LibraryBinder> binder, const Target& target, Tuner& tuner);

  std::optional<LibraryCall> bind(const Kernel& kernel) const override;

  /// Library -> reason why some or all of its calls were not measured.
  const std::map<std::string, std::string>& refusals() const { return refusals_; }

 private:
  struct LoadedLibrary {
    std::unique_ptr<gart::cuda::Library> library;  // null: the library is not available
    std::vector<std::vector<int64_t>> (*algorithms)(gart::cuda::Library&, const gart::cuda::CallProblem&,
                                                    size_t) = nullptr;
  };

  void tune(const LibraryCall& call, Decision decision) const;
  /// The algorithms that the library proposes. If there are none, refusals_ has the reason.
  std::vector<LibraryAlgorithm> propose(const LibraryCall& call) const;
  LoadedLibrary& open(const std::string& name) const;

  const std::shared_ptr<const LibraryBinder> binder_;
  const Target target_;
  Tuner& tuner_;
  const std::unique_ptr<gart::cuda::Device> device_;
  mutable std::map<std::string, LoadedLibrary> opened_;
  mutable std::map<std::string, std::string> refusals_;
};

}  // namespace gcg::tune
