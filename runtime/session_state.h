// A session: its states, and invocations for its own runs.
#pragma once

#include <memory>
#include <vector>

#include "runtime/invocation.h"
#include "runtime/state_set.h"

namespace gart::detail {

struct SessionState : StateSet {
  explicit SessionState(std::shared_ptr<ProgramState> program)
      : StateSet(std::move(program), fb::StateScope::session) {}
  std::vector<std::unique_ptr<InvocationState>> idle;  // invocations of run(), at most one per entry point

  InvocationState& invocation(const Entry& entry);
};

}  // namespace gart::detail
