// A program's place on a device: the engine that runs its parts there, in the turns that the device's queue gives it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "gart/result.h"
#include "runtime/fleet/device_queue.h"
#include "runtime/fleet/engine.h"

namespace gart::fleet {

class Lane {
 public:
  /// `device`: its name in the file. `queue` must outlive the lane.
  Lane(std::string device, std::unique_ptr<Engine> engine, DeviceQueue& queue);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// See DeviceQueue::push and keep.
  void push(QueuedCall& queued) {
    queued.lane = this;
    queue_.push(queued);
  }
  void keep(QueuedCall& queued) {
    queued.lane = this;
    queue_.keep(queued);
  }

  const std::string& device() const { return device_; }
  DeviceQueue& queue() const { return queue_; }
  /// Says how many bytes of weights the program has here. Throws Failure if the device has no room for them beside the
  /// weights of other programs.
  void set_weights(int64_t bytes);
  int64_t weight_bytes() const { return weight_bytes_; }
  /// Bytes of weights that other programs have on the device.
  int64_t weights_of_others() const { return queue_.weight_bytes() - weight_bytes_; }

  bool is_lost() const { return lost_.load(std::memory_order_acquire); }
  /// The error that lost the device. Meaningful only if is_lost().
  const Error& loss() const { return loss_; }

  // For use by the queue's thread.
  Engine& engine() const { return *engine_; }
  void lose(const Error& why) noexcept;

 private:
  const std::string device_;
  const std::unique_ptr<Engine> engine_;
  DeviceQueue& queue_;
  int64_t weight_bytes_ = 0;
  Error loss_;
  std::atomic<bool> lost_{false};
};

}  // namespace gart::fleet
