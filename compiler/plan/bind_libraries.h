// Selects the kernels of a plan that libraries replace.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/kernel/library_call.h"
#include "compiler/plan/plan.h"

namespace gcg {

/// True for Jetsons, which have no memory to spare for libraries. If a kernel can replace a call, they get only the
/// kernel.
bool is_spared_libraries(const Target& target);

/// The requested use of libraries.
struct LibraryOptions {
  std::shared_ptr<const LibraryBinder> binder;  // null: no libraries
  bool fallbacks = false;                       // also emit our own kernels, for machines without the libraries
};

/// Records, for one call that could replace a kernel, whether it does.
struct CallOutcome {
  std::string library;  // "": no library can do it
  int least_sm = 0;     // the oldest GPUs on which the library supports the call
  std::string too_old;  // a target older than that; without fallbacks, no target then gets the call
  bool bound = false;
};

/// The library calls that replace kernels of one plan, before the plan is bound to a target.
class LibraryCalls {
 public:
  /// `targets`: all requested targets. Without fallback kernels, one target that is too old for a call makes all
  /// targets use the kernel.
  LibraryCalls(const Plan& plan, const std::vector<Target>& targets, const LibraryOptions& options);

  /// Replaces each launch that a library supports on the plan's target by a Call. The call may reuse only the storage
  /// that the library allows. Constants that only replaced launches read are removed from the plan.
  /// Requires: `plan` is a copy of the constructor's plan.
  void bind(Plan& plan, const Target& target);

  const IndexedVector<KernelId, CallOutcome>& outcomes() const { return outcomes_; }

 private:
  bool has_sources(const Plan& plan, KernelId kernel, const LibraryCall& call) const;
  Call bound(Plan& plan, const Launch& launch, const LibraryCall& call, const Target& target);
  /// The plan's buffer with the tensor's elements in that type. There is one buffer per tensor and type.
  BufferId form_of(Plan& plan, const TensorRef& source, DType type, const std::string& name);

  LibraryOptions options_;
  IndexedVector<KernelId, std::optional<LibraryCall>> calls_;
  IndexedVector<KernelId, CallOutcome> outcomes_;
  std::map<std::pair<const Tensor*, DType>, TensorRef> rounded_;  // rounded constants, shared by all targets
};

}  // namespace gcg
