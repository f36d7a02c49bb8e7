// Libraries asked for by name that are left without work, and why.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/library_call.h"
#include "compiler/schedule/schedule.h"

namespace gcg {

/// What became of the call that a library could do in place of a kernel.
struct CallOutcome {
  std::string library;  // "": there is none that could
  int least_sm = 0;     // GPUs that the library does it on
  std::string too_old;  // a target that is older than that: the call is left out for all
  bool bound = false;
};

/// `outcomes`: one per kernel. A sentence per library that does nothing in this plan, and per library that leaves steps to kernels because of
/// one target.
std::vector<std::string> library_remarks(const Schedule& schedule, const LibraryBinder& binder, const std::vector<CallOutcome>& outcomes);

}  // namespace gcg
