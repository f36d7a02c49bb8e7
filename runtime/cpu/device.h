// CPUs as a device: a pool of threads in the host's memory. There may be several, each with cores of its own.
#pragma once

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
  Device(const std::string& name, int threads);
  int threads() const override { return team_ ? team_->size() : 1; }
  void check_streams() const override;

  ThreadTeam* team() { return team_ ? &*team_ : nullptr; }            ///< null: the caller works alone
  const Cores* cores() const { return cores_ ? &*cores_ : nullptr; }  ///< null: any

 private:
  std::optional<Cores> cores_;
  std::optional<ThreadTeam> team_;
};

/// The time that a caller works in a pool, as its first thread: on its cores, and with its other threads if nobody else
/// has them.
class Shift {
 public:
  explicit Shift(Device& pool) : lease_(pool.team()) {
    if (pool.cores() != nullptr) on_cores_.emplace(*pool.cores());
  }
  ThreadTeam* team() const { return lease_.get(); }

 private:
  std::optional<OnCores> on_cores_;
  const TeamLease lease_;
};

}  // namespace gart::cpu
