// A device's queue of calls, and the thread that works through it: the oldest request first, of one request in the
// assembly's order.
//
// What a hand-over takes is the way of cache lines from core to core, so there are few: the turn of the call, which its
// job has room for, and the head of the list that turns are linked into, at which the thread looks while it waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gart/result.h"
#include "runtime/fleet/engine.h"
#include "runtime/origin.h"

namespace gart::fleet {

class Lane;

/// What lanes work for: a request.
class Job {
 public:
  virtual void work(Lane& lane, uint32_t call) noexcept = 0;

 protected:
  ~Job() = default;
};

/// A call that waits for its lane.
struct Turn {
  Job* job = nullptr;
  uint64_t order = 0;  // of the job among all jobs
  uint32_t call = 0;
  Turn* next = nullptr;  // while it is in a lane's inbox
};

class Lane {
 public:
  Lane(std::string device, std::unique_ptr<Engine> engine);
  ~Lane() { end(); }
  /// Ends the thread; in a child of fork() there is none. No job may be queued, nor come. Of lanes that push to each
  /// other all end before one is destroyed.
  void end();

  /// The turn is the lane's until its call is worked on.
  void push(Turn& turn);
  /// The same by the lane's own thread.
  void keep(Turn& turn);

  const std::string& device() const { return device_; }
  bool is_lost() const { return lost_.load(std::memory_order_acquire); }
  /// Meaningful if it is lost.
  const Error& loss() const { return loss_; }

  /// Of requests that are placed by what lanes have to do: so many more groups of so much work are coming, or less.
  void expect(int groups, int64_t us) {
    groups_.fetch_add(groups, std::memory_order_relaxed);
    ahead_us_.fetch_add(groups * us, std::memory_order_relaxed);
  }
  int64_t ahead_us() const { return ahead_us_.load(std::memory_order_relaxed); }
  int groups() const { return groups_.load(std::memory_order_relaxed); }

  // For the thread that works.
  Engine& engine() { return *engine_; }
  void lose(const Error& why);
  int64_t idle_since = 0;  // nanoseconds: the end of what it did last

 private:
  void loop();
  void collect();
  Turn& take();
  void wait_for_more();

  const Origin origin_;
  const std::string device_;
  const std::unique_ptr<Engine> engine_;
  Error loss_;
  std::atomic<bool> lost_{false}, stop_{false};
  std::atomic<int64_t> ahead_us_{0};
  std::atomic<int> groups_{0};
  std::vector<Turn*> queue_;                         // a heap whose first is the oldest; the thread's own
  alignas(64) std::atomic<Turn*> inbox_{nullptr};    // what others pushed, the newest first
  std::atomic<bool> sleeps_{false};                  // or is about to
  alignas(64) std::atomic<uint32_t> awakenings_{0};  // changes wake the thread
  std::thread thread_;
};

/// Of a steady clock.
int64_t now_ns();

}  // namespace gart::fleet
