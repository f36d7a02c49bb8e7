// Any number of readers, or one writer, in the order of their arrival. So a steady stream of readers does not keep a
// writer waiting, nor the other way round.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace gart {

class StateLock {
 public:
  void enter(bool writes) {
    std::unique_lock lock(mutex_);
    const uint64_t mine = next_++;
    while (turn_ != mine || (writes && readers_ > 0)) changed_.wait(lock);
    if (writes) return;  // leaving passes the turn on
    ++readers_;
    pass_on();
  }
  void leave(bool writes) {
    const std::lock_guard lock(mutex_);
    if (writes) return pass_on();
    if (--readers_ == 0) changed_.notify_all();
  }

 private:
  void pass_on() {
    ++turn_;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t next_ = 0, turn_ = 0;
  size_t readers_ = 0;
};

}  // namespace gart
