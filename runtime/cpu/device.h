// CPUs as a device: a pool of threads in the host's memory. There may be several, each with cores of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/cpu/cores.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/device.h"

namespace gart::cpu {

class Device final : public gart::Device {
 public:
  /// `name`: "cpu", or with the cores that its threads stay on "cpu:0-3". `threads`: 0 for one per core. `spin`: may
  /// threads that wait keep their core for a while? Throws Failure, or std::system_error where the system refuses a
  /// thread.
  Device(const std::string& name, int threads, const Parallel& parallel = {}, bool spin = true);
  int threads() const override { return threads_; }
  void check_streams() const override;

  const Parallel& parallel() const { return parallel_; }
  /// Null where callers work alone. Pools of the same cores, counts and ways to wait have the same threads: those of a
  /// process that wait, spinning, must not take cores from others that work.
  ThreadPool* pool() { return pool_.get(); }
  const Cores* cores() const { return cores_ ? &*cores_ : nullptr; }  ///< null: any

 private:
  const Parallel parallel_;
  int threads_;
  std::optional<Cores> cores_;
  std::shared_ptr<ThreadPool> pool_;
};

/// The time that a caller works in a pool, as the first thread of a team: on its cores.
class Shift {
 public:
  explicit Shift(Device& device) : pool_(device.pool()), team_(pool_ == nullptr ? nullptr : pool_->enter()) {
    if (device.cores() != nullptr) on_cores_.emplace(*device.cores());
  }
  ~Shift() {
    if (pool_ != nullptr) pool_->leave(team_);
  }
  Shift(const Shift&) = delete;
  Shift& operator=(const Shift&) = delete;
  ThreadTeam* team() const { return team_; }  ///< null: he works alone

 private:
  ThreadPool* const pool_;
  ThreadTeam* const team_;
  std::optional<OnCores> on_cores_;
};

}  // namespace gart::cpu
