// How many requests may be under way at once: who comes beyond that waits until one has ended. So no queue grows.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "runtime/origin.h"

namespace gart::fleet {

class Gate {
 public:
  explicit Gate(int most) : most_(most) {}
  /// This process loaded the fleet; in a child of fork() nobody is behind the gate.
  bool here() const { return origin_.here(); }
  /// The number of the one that comes in, ascending.
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
