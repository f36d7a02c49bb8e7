// A session: its states, and invocations for its own runs.
#pragma once

#include <memory>
#include <vector>

#include "runtime/invocation.h"
#include "runtime/state_set.h"

namespace gart::detail {

struct SessionState : StateSet {
  explicit SessionState(std::shared_ptr<ProgramState> p) : StateSet(std::move(p), fb::StateScope::session) {}
  std::vector<std::unique_ptr<InvocationState>> idle;  // invocations of run(), at most one per entry point

  InvocationState& invocation(const Entry& entry);
};

/// Sets the inputs, runs, and hands over the outputs. `session`: null for runs of the program itself. One function
/// serves all forms of inputs and both kinds of runs, because they share most of their code.
Result<std::vector<Tensor>> run_once(ProgramState& program, SessionState* session, std::string_view entry,
                                     const AnyInputs& inputs);

}  // namespace gart::detail
