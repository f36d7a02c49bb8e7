// The programs of this process, by the cuts that they compute, and the thread that compiles the programs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "gcc_graph/lazy.h"
#include "tools/lazy/cut.h"
#include "tools/lazy/program.h"

namespace gcc_graph::lazy {

/// A cut that was seen before, and its program.
struct KnownCut {
  std::vector<uint32_t> structure;
  std::vector<const Extents*> extents;
  std::shared_ptr<Program> program;
  std::vector<int64_t> symbols;
  uint64_t used = 0;  // time of the last use, by clock_
};

/// Only one thread at a time may call find() (the engine's lock).
class ProgramCache {
 public:
  /// The program for the cut, compiled or not.
  KnownCut& find(const Cut& cut);
  /// Requests a compilation in the background.
  void request(const std::shared_ptr<Program>& program);
  /// Waits for the program. Compiles it on this thread unless another thread already does.
  void wait_for(const std::shared_ptr<Program>& program);
  bool wait_for_all(int64_t milliseconds);
  void clear();

  Settings settings() const;
  // Settings::deterministic, readable by any thread.
  bool is_deterministic() const { return is_deterministic_.load(std::memory_order_relaxed); }
  void set(const Settings& settings);
  void fill(Stats& stats) const;
  std::vector<std::string> explain() const;

  /// A forked child lacks the other threads. Their locks would stay locked, and tables that they were changing (LLVM's,
  /// for example) half-written. So fork waits for the threads, and holds the locks until after_fork.
  void before_fork();
  void after_fork(bool is_child);
  /// Ends the compiler thread; nothing is compiled in the background from then on.
  void stop();

  static ProgramCache& instance();

 private:
  struct Family {
    std::vector<uint32_t> structure;
    std::vector<std::shared_ptr<Program>> programs;
    bool fixed_only = false;  // True if compiling with symbolic extents failed
  };

  Family& family_of(const Cut& cut);
  std::shared_ptr<Program> program_for(Family& family, const Cut& cut, std::vector<int64_t>& symbols);
  void make(const std::shared_ptr<Program>& program, std::unique_lock<std::mutex>& lock);
  void work();
  void set_priority(int nice) const;
  void evict();

  std::unordered_multimap<uint64_t, KnownCut> found_;
  std::unordered_multimap<uint64_t, Family> families_;
  uint64_t clock_ = 0;

  mutable std::mutex mutex_;  // guards the following members
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Program>> queue_;  // newest last
  int busy_ = 0;
  bool stop_ = false, has_thread_ = false, is_forking_ = false;
  std::thread* thread_ = nullptr;
  std::atomic<int> thread_id_{0};
  std::atomic<bool> is_deterministic_{false};
  Settings settings_;
  int64_t compiles_ = 0, disk_hits_ = 0;
  std::deque<std::string> lines_;
};

}  // namespace gcc_graph::lazy
