// Places that callers take in the order of their arrival. Users that may work together take one place each; a user that
// works alone takes all places. So a steady stream of readers does not block a writer, and writers do not block a
// reader.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace gart {

class Turns {
 public:
  explicit Turns(uint32_t places) : free_(places) {}

  /// Waits until `places` are free and earlier callers have theirs. If `waits` is false, returns false instead of
  /// waiting.
  bool enter(uint32_t places, bool waits = true) {
    std::unique_lock lock(mutex_);
    if (!waits && (serving_ != next_ || free_ < places)) return false;
    const uint64_t mine = next_++;
    while (serving_ != mine || free_ < places) changed_.wait(lock);
    free_ -= places;
    ++serving_;
    changed_.notify_all();
    return true;
  }
  [[gnu::noinline]] void leave(uint32_t places) {
    const std::lock_guard lock(mutex_);
    free_ += places;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t next_ = 0, serving_ = 0;
  uint32_t free_;
};

}  // namespace gart
