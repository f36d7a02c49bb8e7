// A device's queue of calls, and the thread that works through it: the oldest request first, and within a request in
// the assembly's order.
//
// A hand-over touches only two cache lines, because moving lines from core to core is its main cost. One line is the
// queued call, which the job owns. The other is the head of the list of queued calls, which the thread reads while it
// waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "gart/result.h"
#include "runtime/fleet/engine.h"
#include "runtime/origin.h"

namespace gart::fleet {

class Lane;

/// A request, as its lanes see it.
class Job {
 public:
  virtual void work(Lane& lane, uint32_t call) noexcept = 0;

 protected:
  ~Job() = default;
};

/// A call that waits for its lane.
struct QueuedCall {
  Job* job = nullptr;
  uint64_t order = 0;  // the job's number among all jobs
  uint32_t call = 0;
  QueuedCall* next = nullptr;  // the next call in the lane's inbox; in its queue, the right child in the heap
  QueuedCall* left = nullptr;
};

class Lane {
 public:
  Lane(std::string device, std::unique_ptr<Engine> engine);
  ~Lane() { end(); }
  /// Ends the thread; a child of fork() has no such thread. No job may be queued or arrive. If lanes push to each
  /// other, all of them must be ended before one is destroyed.
  void end();

  /// Queues a call. The lane owns `queued` until it begins the call.
  void push(QueuedCall& queued);
  /// The same as push(), but called by the lane's own thread.
  void keep(QueuedCall& queued);

  const std::string& device() const { return device_; }
  bool is_lost() const { return lost_.load(std::memory_order_acquire); }
  /// The error that lost the device. Meaningful only if is_lost().
  const Error& loss() const { return loss_; }

  /// Dynamic placement: adds `groups` groups (may be negative) of `us` microseconds each to the expected work.
  void expect(int groups, int64_t us) {
    groups_.fetch_add(groups, std::memory_order_relaxed);
    ahead_us_.fetch_add(groups * us, std::memory_order_relaxed);
  }
  /// Dynamic placement: adds bytes (may be negative) of values that running requests make here.
  void hold(int64_t bytes) { held_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  int64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }
  int64_t ahead_us() const { return ahead_us_.load(std::memory_order_relaxed); }
  int groups() const { return groups_.load(std::memory_order_relaxed); }

  // For use by the lane's thread.
  Engine& engine() { return *engine_; }
  void lose(const Error& why) noexcept;
  int64_t idle_since = 0;  // time, in nanoseconds, at which its last work ended

 private:
  void loop();
  void collect();
  QueuedCall& take();
  void wait_for_more();

  const Origin origin_;
  const std::string device_;
  const std::unique_ptr<Engine> engine_;
  Error loss_;
  std::atomic<bool> lost_{false}, stop_{false};
  std::atomic<int64_t> ahead_us_{0}, held_bytes_{0};
  std::atomic<int> groups_{0};
  // The oldest call, the root of a skew heap: it allocates nothing, so that it cannot fail. Only the thread uses it.
  QueuedCall* queue_ = nullptr;
  alignas(64) std::atomic<QueuedCall*> inbox_{nullptr};  // calls that others pushed; the newest comes first
  std::atomic<bool> sleeps_{false};                      // True if the thread sleeps or is about to
  alignas(64) std::atomic<uint32_t> awakenings_{0};      // a change of this number wakes the thread
  std::thread thread_;
};

/// Nanoseconds of a steady clock.
int64_t now_ns();

}  // namespace gart::fleet
