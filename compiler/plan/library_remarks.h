// Libraries asked for by name that are left without work, and why.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/library_call.h"
#include "compiler/plan/plan.h"

namespace gcg {

/// What became of the call that a library could do in place of a kernel.
struct CallOutcome {
  std::string library;  // "": there is none that could
  int least_sm = 0;     // GPUs that the library does it on
  std::string too_old;  // a target that is older than that: the call is left out for all
  bool bound = false;
};

/// `plan`: before calls were bound; `outcomes`: of its kernels. A sentence per library that does nothing in this plan,
/// and per library that leaves steps to kernels because of one target.
std::vector<std::string> library_remarks(const Plan& plan, const LibraryBinder& binder,
                                         const IndexedVector<KernelId, CallOutcome>& outcomes);

}  // namespace gcg
