// A session: its states, and invocations for its own runs.
#pragma once

#include <memory>
#include <vector>

#include "runtime/invocation.h"
#include "runtime/session_memory.h"

namespace gart::detail {

struct SessionState : SessionMemory {
  using SessionMemory::SessionMemory;
  std::vector<std::unique_ptr<InvocationState>> idle;  // invocations of run(), at most one per entry point

  InvocationState& invocation(const Entry& entry);
};

}  // namespace gart::detail
