// Which kernels of a plan libraries do.
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

/// Jetsons have no memory to spare for libraries: where a kernel can stand in for a call, they get the kernel alone.
bool is_spared_libraries(const Target& target);

/// What is asked of libraries.
struct LibraryOptions {
  std::shared_ptr<const LibraryBinder> binder;  // null: nothing
  bool fallbacks = false;  // kernels of our own beside the calls, for machines without the libraries
};

/// What became of the call that a library could do in place of a kernel.
struct CallOutcome {
  std::string library;  // "": there is none that could
  int least_sm = 0;     // GPUs that the library does it on
  std::string too_old;  // a target that is older than that: the call is left out for all
  bool bound = false;
};

/// The calls that do the work of one plan's kernels, before it is for one target.
class LibraryCalls {
 public:
  /// `targets`: all that are asked for. Without kernels beside the calls, one that is too old for a call makes all use
  /// kernels.
  LibraryCalls(const Plan& plan, const std::vector<Target>& targets, const LibraryOptions& options);

  /// Puts a Call in the place of each launch that a library does on the plan's target. It may take over only the memory
  /// that the library allows. Constants that only the replaced launches read are none of the plan's any more. Requires:
  /// a copy of the plan given first.
  void bind(Plan& plan, const Target& target);

  const IndexedVector<KernelId, CallOutcome>& outcomes() const { return outcomes_; }

 private:
  bool has_sources(const Plan& plan, KernelId kernel, const LibraryCall& call) const;
  Call bound(Plan& plan, const Launch& launch, const LibraryCall& call, const Target& target);
  /// A buffer of the plan for the elements in that type, one per tensor.
  BufferId form_of(Plan& plan, const TensorRef& source, DType type, const std::string& name);

  LibraryOptions options_;
  IndexedVector<KernelId, std::optional<LibraryCall>> calls_;
  IndexedVector<KernelId, CallOutcome> outcomes_;
  std::map<std::pair<const Tensor*, DType>, TensorRef> rounded_;  // the same for all targets
};

}  // namespace gcg
