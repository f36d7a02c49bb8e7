// The memory of a session's states, and how runs read and replace it.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/bound_plan.h"
#include "runtime/entry.h"
#include "runtime/io.h"
#include "runtime/memory.h"
#include "runtime/program.h"

namespace gart::detail {

/// One state. Its memory holds the elements with the growing axis in front, so that rows can be appended.
struct StateMemory {
  explicit StateMemory(MemorySource* source) : block(source), spare(source) {}
  enum class Holds : uint8_t { nothing, a_value, torn };  // torn: a run that replaced rows in place did not end
  Holds holds = Holds::nothing;
  bool is_set() const { return holds != Holds::nothing; }
  Shape shape;  // in memory
  Block block;
  Block spare;  // where a run writes the new value, if it cannot append in place
};

/// The states of a session, without its invocations (session_state.h).
struct SessionMemory {
  explicit SessionMemory(std::shared_ptr<ProgramState> program);

  std::shared_ptr<ProgramState> program;
  std::vector<StateMemory> states;  // parallel to ProgramState::states
  std::atomic<bool> under_way = false;
  std::vector<Shape> after;  // the current run's shapes of its entry's states

  /// The value with the model's extents.
  Tensor get(size_t state);
  void require_whole(size_t state) const;
  void set(size_t state, const TensorView& value);
  void reset();
  /// Copies all values to a new session of the same program.
  void copy_to(SessionMemory& copy);
};

/// Guards a use of a session: a second one that begins meanwhile fails.
class SessionGuard {
 public:
  explicit SessionGuard(SessionMemory& session);
  ~SessionGuard() { session_.under_way.store(false, std::memory_order_release); }
  SessionGuard(const SessionGuard&) = delete;
  SessionGuard& operator=(const SessionGuard&) = delete;

 protected:
  SessionMemory& session_;
};

/// One run of an entry point. Until commit() the session's states are as they were before, also if the run fails or is
/// cancelled; but states with rows that the run replaces in place are torn.
class SessionTurn : private SessionGuard {
 public:
  SessionTurn(SessionMemory& session, const Entry& entry) : SessionGuard(session), entry_(entry) {}
  /// Sets the inputs that are states. A state that has no value yet begins with zeros, or without rows if it grows.
  void lend_inputs(Inputs& inputs);
  /// Sets the outputs that are states, and makes room for them.
  void lend_outputs(Inputs& inputs, Outputs& outputs, const BoundPlan& bound);
  void commit();

 private:
  Shape first_shape(const Inputs& inputs, size_t state) const;
  StateMemory& memory(size_t state) { return session_.states[entry_.program_states[state]]; }

  const Entry& entry_;
};

}  // namespace gart::detail
