// The memory of a session's states, and how runs read and replace it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/bound_plan.h"
#include "runtime/entry.h"
#include "runtime/memory.h"
#include "runtime/program.h"

namespace gart::detail {

struct InvocationState;

/// One state. Its memory holds the elements with the growing axis in front, so that rows can be appended.
struct StateMemory {
  explicit StateMemory(MemorySource* source) : block(source), spare(source) {}
  bool is_set = false;
  Shape shape;  // in memory
  Block block;
  Block spare;  // where a run writes the new value, if it cannot append in place
};

struct SessionState {
  explicit SessionState(std::shared_ptr<ProgramState> program);
  ~SessionState();

  std::shared_ptr<ProgramState> program;
  std::vector<StateMemory> states;                     // parallel to ProgramState::states
  std::vector<std::unique_ptr<InvocationState>> idle;  // invocations of run(), at most one per entry point
  std::atomic<bool> under_way = false;
  std::vector<Shape> after;  // the current run's shapes of its entry's states

  InvocationState& invocation(const Entry& entry);
  /// The value with the model's extents.
  Tensor get(size_t state);
  void set(size_t state, const TensorView& value);
  void reset();
  std::shared_ptr<SessionState> fork();

 private:
  /// The first entry that has the state, and its position there.
  std::pair<const Entry*, size_t> home(size_t state) const;
};

/// Guards a use of a session: a second one that begins meanwhile fails.
class SessionGuard {
 public:
  explicit SessionGuard(SessionState& session);
  ~SessionGuard() { session_.under_way.store(false, std::memory_order_release); }
  SessionGuard(const SessionGuard&) = delete;
  SessionGuard& operator=(const SessionGuard&) = delete;

 protected:
  SessionState& session_;
};

/// One run. Until commit() the session's states are as they were before, also if the run fails or is cancelled.
class SessionTurn : private SessionGuard {
 public:
  explicit SessionTurn(SessionState& session) : SessionGuard(session) {}
  /// Sets the inputs that are states. A state that has no value yet begins with zeros, or without rows if it grows.
  void lend_inputs(InvocationState& invocation);
  /// Sets the outputs that are states, and makes room for them.
  void lend_outputs(InvocationState& invocation, const BoundPlan& bound);
  void commit();

 private:
  Shape first_shape(const InvocationState& invocation, size_t state) const;
  StateMemory& memory(size_t state) { return session_.states[entry_->program_states[state]]; }

  const Entry* entry_ = nullptr;
};

}  // namespace gart::detail
