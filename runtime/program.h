// A loaded artifact: mapped, proven, bound to this CPU or to a device. Immutable but for the thread team and the pool of idle
// invocations.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "artifact_schema/reader.h"
#include "gart/gart.hpp"
#include "runtime/cpu/thread_team.h"
#include "runtime/device.h"
#include "runtime/entry.h"
#include "runtime/memory.h"

namespace gart::detail {

struct InvocationState;

struct ProgramState {
  Mapping file;           // loaded from a path, or
  Block copy;             // from memory that was not aligned
  ArtifactView artifact;  // into one of them, or into the caller's memory
  Mapping code;
  const fb::Target* target = nullptr;
  std::string target_name;
  int64_t cpu_target = -1;  // whose code the CPU runs: the program's, or that of the steps a device leaves to it; -1: none
  std::vector<const void*> imports;
  std::unique_ptr<gart_custom_op[]> custom_ops;  // one per import; imports that are the application's point to theirs
  std::vector<Entry> entries;
  std::unique_ptr<ThreadTeam> team;       // of the CPU
  std::unique_ptr<DeviceProgram> device;  // null: the CPU runs it
  std::string device_name = "cpu";

  // Idle invocations of Program::run, so that it need not allocate an arena each time.
  std::mutex mutex;
  std::vector<std::unique_ptr<InvocationState>> idle;

  ProgramState();
  ~ProgramState();

  /// "" is the first.
  Result<const Entry*> entry(std::string_view name) const;
  /// An idle one, or a new one.
  Result<std::unique_ptr<InvocationState>> borrow(const Entry& entry);
  void give_back(std::unique_ptr<InvocationState> invocation);
};

}  // namespace gart::detail
