// A device's queue of calls, and the thread that works through it: the oldest request first, and within a request in
// the assembly's order. Programs of one manager share the queues of their devices.
//
// A hand-over touches only two cache lines, because moving lines from core to core is its main cost. One line is the
// queued call, which the job owns. The other is the head of the list of queued calls, which the thread reads while it
// waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gart/manager.hpp"
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

/// A call that waits for its device.
struct QueuedCall {
  Job* job = nullptr;
  Lane* lane = nullptr;
  uint64_t order = 0;  // the job's number among all jobs of the process
  uint32_t call = 0;
  QueuedCall* next = nullptr;  // the next call in the inbox; in the queue, the right child in the heap
  QueuedCall* left = nullptr;
};

/// The work that a running request will do on a device. The request owns it, and the queue links it while it has
/// groups.
struct Expected {
  uint64_t order = 0;  // the job's number
  int groups = 0;
  int64_t us = 0;
  Expected* next = nullptr;
  Expected* previous = nullptr;
};

/// Work that waits for a device.
struct Ahead {
  int groups = 0;
  int64_t us = 0;
};

class DeviceQueue {
 public:
  /// `name`: the device here. `memory`: its bytes for weights and values; 0: no limit is known. Throws Failure.
  DeviceQueue(std::string name, int64_t memory);
  ~DeviceQueue() { end(); }
  /// Ends the thread; a child of fork() has no such thread. No job may be queued or arrive. If queues push to each
  /// other, all of them must be ended before one is destroyed.
  void end();

  /// Queues a call. The queue owns `queued` until it begins the call.
  void push(QueuedCall& queued);
  /// The same as push(), but called by the queue's own thread.
  void keep(QueuedCall& queued);

  /// Adds `groups` groups (may be negative) of `us` microseconds each to the expected work of a request.
  void expect(Expected& of, int groups, int64_t us);
  /// The expected work of requests with smaller numbers.
  Ahead ahead_of(uint64_t order) const;
  /// Adds bytes (may be negative) of values that running requests make here.
  void hold(int64_t bytes) { held_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  int64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }
  int64_t ahead_us() const { return ahead_us_.load(std::memory_order_relaxed); }
  int groups() const { return groups_.load(std::memory_order_relaxed); }
  /// Counts lanes: the programs that have parts here.
  void join(int lanes) { lanes_.fetch_add(lanes, std::memory_order_relaxed); }
  /// Adds bytes (may be negative) of weights. Adds nothing and returns false if the device has no room for them.
  bool add_weights(int64_t bytes);
  int64_t weight_bytes() const { return weight_bytes_.load(std::memory_order_relaxed); }
  int64_t memory() const { return memory_; }
  const std::string& name() const { return name_; }
  DeviceLoad load() const;

  int64_t idle_since = 0;  // time, in nanoseconds, at which the thread's last work ended; only the thread uses it

 private:
  void loop();
  void collect();
  QueuedCall& take();
  void wait_for_more();

  const Origin origin_;
  const std::string name_;
  const int64_t memory_;
  std::atomic<bool> stop_{false}, busy_{false};
  std::atomic<int64_t> ahead_us_{0}, held_bytes_{0}, weight_bytes_{0};
  std::atomic<int> groups_{0}, lanes_{0};
  mutable std::mutex expecting_;
  Expected* expected_ = nullptr;  // the requests that have groups here; guarded by expecting_
  // The oldest call, the root of a skew heap: it allocates nothing, so that it cannot fail. Only the thread uses it.
  QueuedCall* queue_ = nullptr;
  alignas(64) std::atomic<QueuedCall*> inbox_{nullptr};  // calls that others pushed; the newest comes first
  std::atomic<bool> sleeps_{false};                      // True if the thread sleeps or is about to
  alignas(64) std::atomic<uint32_t> awakenings_{0};      // a change of this number wakes the thread
  std::thread thread_;
};

namespace detail {

/// The devices that programs share, each with its queue.
class DeviceQueues {
 public:
  explicit DeviceQueues(std::vector<MemoryLimit> memory = {}) : memory_(std::move(memory)) {}
  ~DeviceQueues();
  DeviceQueues(const DeviceQueues&) = delete;
  DeviceQueues& operator=(const DeviceQueues&) = delete;

  /// The queue of a device of this machine, or of another rank. An empty name belongs to one caller. Throws Failure in
  /// a child of fork().
  DeviceQueue& of(const std::string& name);
  std::vector<DeviceLoad> loads() const;

 private:
  const Origin origin_;
  const std::vector<MemoryLimit> memory_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<DeviceQueue>> queues_;
};

}  // namespace detail

/// Nanoseconds of a steady clock.
int64_t now_ns();

}  // namespace gart::fleet
