// Counts the kernels that a backend has compiled, for the progress of a compilation.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

namespace gcg {

/// Reports to the observer of the thread that makes it. Its worker threads may then share it.
class KernelProgress {
 public:
  /// Called with the number of compiled kernels and the number of all, by one thread at a time.
  using Observer = std::function<void(size_t done, size_t all)>;

  /// Observes all work that this thread starts before the object's end.
  class Scope {
   public:
    explicit Scope(Observer observer);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class KernelProgress;
    Observer observer_;
    Scope* outer_;
  };

  explicit KernelProgress(size_t all);
  void finish_one();

 private:
  const Observer* observer_;
  std::mutex mutex_;
  size_t done_ = 0, all_;
};

/// Tells how far code generation is and how long it will still take: "code x86-64-v4 12/40, about 3 s left". The time
/// left assumes that all targets take equally long.
class CodeStages {
 public:
  /// `say` may be empty.
  CodeStages(std::function<void(const std::string&)> say, size_t targets) : say_(std::move(say)), targets_(targets) {}

  /// Begins the next target. The observer is for its kernels, and must not outlive this object.
  KernelProgress::Observer begin(const std::string& target);

 private:
  std::function<void(const std::string&)> say_;
  const size_t targets_;
  size_t begun_ = 0;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace gcg
