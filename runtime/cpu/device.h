// CPUs as a device: a thread pool that works in host memory. There may be several such devices, each with its own
// cores.
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
  /// `name`: "cpu", or "cpu:0-3" to bind the threads to those cores. `threads`: 0 for one per core. `spin`: waiting
  /// threads may keep their core for a while. Throws Failure, or std::system_error if the system refuses a thread.
  Device(const std::string& name, int threads, const Parallel& parallel = {}, bool spin = true);
  int threads() const override { return threads_; }
  void check_streams() const override;

  const Parallel& parallel() const { return parallel_; }
  /// Null if callers work alone. Devices with equal cores, thread counts and spin settings share one pool: the spinning
  /// threads of a second pool would take cores from the working threads of the first.
  ThreadPool* pool() { return pool_.get(); }
  const Cores* cores() const { return cores_ ? &*cores_ : nullptr; }  ///< null: any

 private:
  const Parallel parallel_;
  int threads_;
  std::optional<Cores> cores_;
  std::shared_ptr<ThreadPool> pool_;
};

/// A caller's use of a pool, as the first thread of a team. Meanwhile the caller is bound to the device's cores.
class Shift {
 public:
  /// `excludes`: as in ThreadPool::enter().
  explicit Shift(Device& device, bool excludes = false)
      : pool_(device.pool()), team_(pool_ == nullptr ? nullptr : pool_->enter(excludes)) {
    if (device.cores() != nullptr) on_cores_.emplace(*device.cores());
  }
  ~Shift() {
    if (pool_ != nullptr) pool_->leave(team_);
  }
  Shift(const Shift&) = delete;
  Shift& operator=(const Shift&) = delete;
  ThreadTeam* team() const { return team_; }  ///< null: the caller works alone

 private:
  ThreadPool* const pool_;
  ThreadTeam* const team_;
  std::optional<OnCores> on_cores_;
};

}  // namespace gart::cpu
