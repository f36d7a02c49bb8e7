// The body of a reply that is sent piece by piece.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>

namespace gcg::serve {

/// One thread writes, and the connection reads. The writer must call end(), also after a fault.
class ReplyStream {
 public:
  struct Pieces {
    std::string text;
    bool is_last = false;  // the end follows the text
  };

  void write(const std::string& piece) {
    change([&] { next_.text += piece; });
  }
  void end() {
    change([&] { next_.is_last = true; });
  }

  /// `wake` is called by the writer after each change, and now.
  void attach(std::function<void()> wake) {
    {
      const std::lock_guard lock(mutex_);
      wake_ = wake;
    }
    wake();
  }
  /// Further pieces are discarded.
  void detach() {
    const std::lock_guard lock(mutex_);
    wake_ = nullptr;
    is_detached_ = true;
    next_.text.clear();
  }
  /// All that was written since the last call.
  Pieces take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(next_, {"", next_.is_last});
  }

 private:
  template <class Change>
  void change(const Change& apply) {
    std::function<void()> wake;
    {
      const std::lock_guard lock(mutex_);
      if (is_detached_) return;
      apply();
      wake = wake_;
    }
    if (wake) wake();
  }

  std::mutex mutex_;
  std::function<void()> wake_;
  Pieces next_;
  bool is_detached_ = false;
};

}  // namespace gcg::serve
