// Limits how many requests run at once. Further ones wait until one has ended, so that no queue grows.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "runtime/origin.h"

namespace gart::fleet {

class Gate {
 public:
  explicit Gate(int most) : most_(most) {}
  /// True if this process loaded the fleet. A child of fork() has no threads to work behind the gate.
  bool here() const { return origin_.here(); }
  /// Waits until one more may run, and returns the request's number, ascending.
  uint64_t enter() {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [&] { return inside_ < most_; });
    ++inside_;
    return next_++;
  }
  void leave() {
    {
      const std::lock_guard lock(mutex_);
      --inside_;
    }
    left_.notify_one();
  }

 private:
  const Origin origin_;
  const int most_;
  std::mutex mutex_;
  std::condition_variable left_;
  int inside_ = 0;
  uint64_t next_ = 0;
};

}  // namespace gart::fleet
