// CPUs as a device: a pool of threads in the host's memory. There may be several, each with cores of its own.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>

#include "runtime/cpu/cores.h"
#include "runtime/cpu/thread_team.h"
#include "runtime/device.h"

namespace gart::cpu {

class Device final : public gart::Device {
 public:
  /// `name`: "cpu", or with the cores that its threads stay on "cpu:0-3". `threads`: 0 for one per core. Throws
  /// Failure, or std::system_error where the system refuses a thread.
  Device(const std::string& name, int threads, const Parallel& parallel = {});
  int threads() const override { return threads_; }
  void check_streams() const override;

  const Parallel& parallel() const { return parallel_; }
  /// One per replica; none where callers work alone. Pools of the same cores and counts have the same ones: threads of
  /// a process that wait, spinning, must not take cores from others that work.
  std::list<ThreadTeam>& teams() { return *teams_; }
  const Cores* cores() const { return cores_ ? &*cores_ : nullptr; }  ///< null: any

 private:
  const Parallel parallel_;
  int threads_;
  std::optional<Cores> cores_;
  std::shared_ptr<std::list<ThreadTeam>> teams_;
};

/// The time that a caller works in a pool, as its first thread: on its cores, and with a team that nobody else has.
/// Where there is one team for all callers, each is counted: whoever comes while others work does so alone, since
/// threads are better used by runs beside each other than by one.
class Shift {
 public:
  explicit Shift(Device& pool) : lease_(pool.teams()) {
    if (pool.cores() != nullptr) on_cores_.emplace(*pool.cores());
  }
  ThreadTeam* team() const { return lease_.get(); }

 private:
  std::optional<OnCores> on_cores_;
  const TeamLease lease_;
};

}  // namespace gart::cpu
