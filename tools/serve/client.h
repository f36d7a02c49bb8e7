// Tells a request's work that the client has left, so that work that takes long ends early.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

namespace gcg::serve {

/// For any thread. The connection watches the client of a request only if the handler calls watch() before it returns.
class Client {
 public:
  /// `leaves` is called at most once: when the client leaves, or now if it has left.
  void watch(std::function<void()> leaves) {
    {
      const std::lock_guard lock(mutex_);
      is_watched_ = true;
      if (!has_left_) {
        leaves_ = std::move(leaves);
        return;
      }
    }
    leaves();
  }
  /// Called by the connection.
  void leave() {
    std::function<void()> leaves;
    {
      const std::lock_guard lock(mutex_);
      has_left_ = true;
      leaves.swap(leaves_);
    }
    if (leaves) leaves();
  }
  bool is_watched() const {
    const std::lock_guard lock(mutex_);
    return is_watched_;
  }
  bool has_left() const {
    const std::lock_guard lock(mutex_);
    return has_left_;
  }

 private:
  mutable std::mutex mutex_;
  std::function<void()> leaves_;
  bool is_watched_ = false, has_left_ = false;
};

}  // namespace gcg::serve
