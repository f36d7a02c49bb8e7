// The memory of states, and how runs read and replace it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/bound_plan.h"
#include "runtime/entry.h"
#include "runtime/io.h"
#include "runtime/memory.h"
#include "runtime/program.h"
#include "runtime/turns.h"

namespace gart::detail {

/// One state. Its memory holds the elements with the growing axis in front, so that rows can be appended.
struct StateMemory {
  enum class Holds : uint8_t { nothing, a_value, torn };  // torn: only some rows are new, because a run failed
  Holds holds = Holds::nothing;
  bool is_set() const { return holds != Holds::nothing; }
  Shape shape;  // in memory
  Block block;
  Block spare;  // where a run writes the new value, if it cannot append in place
};

/// The states of one owner: a session, or the program itself. States of a session have no value at first; states of the
/// program have their first value.
struct StateSet {
  StateSet(std::shared_ptr<ProgramState> program, fb::StateScope scope);

  std::shared_ptr<ProgramState> program;  // for the program's own set: a pointer without ownership
  const fb::StateScope scope;
  std::vector<StateMemory> states;      // parallel to infos()
  std::atomic<bool> under_way = false;  // for a session: a use is in progress; uses must not overlap
  static constexpr uint32_t kReaders = 1 << 16;
  Turns turns{kReaders};  // for the program: readers and writers wait for each other; a writer takes all places

  std::span<const TensorInfo> infos() const { return program->states_of(scope); }
  // The functions of Session and Program with these names.
  Result<Tensor> state(std::string_view name);
  Result<void> set_state(std::string_view name, const TensorView& value);
  Result<void> save(const std::string& path);
  Result<void> load(const std::string& path);
  void reset();
  void shorten(int64_t rows);
  /// Copies all values to a new session of the same program.
  void copy_to(StateSet& copy);
  /// Makes room for a value of this shape in memory, and fills it with the state's first value.
  void begin(size_t state, const Shape& shape);
  /// Fails if a failed run left the state half changed.
  void require_whole(size_t state) const;

 private:
  const StateHome& home(size_t state) const;
  size_t find(std::string_view name) const;
  /// The value with the model's extents.
  Tensor copy_of(size_t state) const;
  void set(size_t state, const TensorView& value);
  std::vector<Tensor> values();
  void replace(const Mapping& file);
};

/// Guards a use of a set. A second use of a session fails while the first is in progress. Uses of the program's states
/// wait for each other, except that readers do not wait for other readers.
class StateGuard {
 public:
  StateGuard(StateSet& set, bool writes);
  ~StateGuard();
  StateGuard(const StateGuard&) = delete;
  StateGuard& operator=(const StateGuard&) = delete;

 private:
  StateSet& set_;
  const bool writes_;
};

/// One run of an entry point. Until commit(), the states are as they were before, even if the run fails or is
/// cancelled. States with rows that the run replaces in place are the exception: a failed run leaves them torn.
class StateTransaction {
 public:
  /// `session`: null if the entry point has no states of a session.
  StateTransaction(StateSet* session, StateSet& shared, const Entry& entry);
  /// Sets the inputs that are states. If a session's state has no value yet, it starts with its first value: by default
  /// zeros, or no rows if it grows.
  void lend_inputs(Inputs& inputs);
  /// Sets the outputs that are states, and makes room for them.
  void lend_outputs(Inputs& inputs, Outputs& outputs, const BoundPlan& bound);
  void commit(const BoundPlan& bound);

 private:
  Shape first_shape(const Inputs& inputs, size_t state) const;
  StateSet& set_of(size_t state) const {
    return entry_.state(state).scope() == fb::StateScope::program ? shared_ : *session_;
  }
  StateMemory& memory(size_t state) const { return set_of(state).states[entry_.state_numbers[state]]; }

  StateSet* const session_;
  StateSet& shared_;
  const Entry& entry_;
  std::optional<StateGuard> of_session_, of_program_;
};

}  // namespace gart::detail
