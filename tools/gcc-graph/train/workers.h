// Threads that work for one caller at the same time, again and again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace gcg::tools {

class Workers {
 public:
  /// Starts `count` - 1 threads; the caller is the first worker. Threads without work sleep.
  explicit Workers(size_t count);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Calls work(i) for i below `count`, at most the number of workers, at the same time. Returns when all calls have
  /// returned. `work` must not throw.
  void run(size_t count, const std::function<void(size_t)>& work);

 private:
  void serve(size_t index);

  const std::function<void(size_t)>* work_ = nullptr;
  std::vector<std::atomic<uint32_t>> calls_;  // by thread: each change calls it
  std::atomic<size_t> busy_{0};
  std::atomic<bool> stops_{false};
  std::vector<std::jthread> threads_;
};

}  // namespace gcg::tools
