// A loaded artifact: mapped and verified, with its code and weights on the device that runs it. Immutable except for
// the pool of idle invocations.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "artifact_schema/reader.h"
#include "gart/gart.hpp"
#include "runtime/device.h"
#include "runtime/entry.h"
#include "runtime/memory.h"
#include "runtime/turns.h"

namespace gart::detail {

struct InvocationState;
struct StateSet;

/// A state's place in one of the entries that have it.
struct StateHome {
  uint32_t entry, position;
};

struct ProgramState {
  Mapping file;           // set if the artifact was loaded from a path
  Block copy;             // set if the artifact was loaded from unaligned memory
  ArtifactView artifact;  // a view of `file`, `copy` or the caller's memory
  std::string target_name;
  std::vector<Entry> entries;
  std::vector<TensorInfo> states;       // states of sessions, then states of the program; with the model's extents
  std::vector<StateHome> homes;         // parallel to `states`
  size_t session_states = 0;            // the number of states of sessions
  std::unique_ptr<DeviceProgram> part;  // on its device
  std::unique_ptr<StateSet> own_states;

  std::optional<Turns> runs;  // places for concurrent runs; nullopt: no limit
  bool refuses_runs = false;  // a run without a place fails

  // Idle invocations of Program::run, so that it need not allocate an arena for each run.
  std::mutex mutex;
  std::vector<std::unique_ptr<InvocationState>> idle;

  ProgramState();
  ~ProgramState();

  Device& device() const { return part->device(); }
  const fb::Target& target() const { return *artifact.manifest->targets()->Get(part->target()); }

  /// "" names the first entry point.
  const Entry* find(std::string_view name) const;  ///< null: not found
  const Entry& entry(std::string_view name) const;
  std::span<const TensorInfo> states_of(fb::StateScope scope) const {
    const std::span<const TensorInfo> all(states);
    return scope == fb::StateScope::session ? all.first(session_states) : all.subspan(session_states);
  }
  /// An idle invocation, or a new one. Fails for an entry with states of a session.
  std::unique_ptr<InvocationState> borrow(const Entry& entry);
  void give_back(std::unique_ptr<InvocationState> invocation) noexcept;
};

/// One of the places for concurrent runs of a program, held by a run.
class RunPlace {
 public:
  explicit RunPlace(ProgramState& program);
  ~RunPlace() {
    if (program_.runs) program_.runs->leave(1);
  }
  RunPlace(const RunPlace&) = delete;
  RunPlace& operator=(const RunPlace&) = delete;

 private:
  ProgramState& program_;
};

}  // namespace gart::detail
