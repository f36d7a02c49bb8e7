// A device's queue of calls, and the thread that works through it: the oldest request first, of one request in the
// assembly's order.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gart/result.h"
#include "runtime/fleet/engine.h"

namespace gart::fleet {

class Lane;

/// What lanes work for: a request.
class Job {
 public:
  virtual void work(Lane& lane, uint32_t call) noexcept = 0;

 protected:
  ~Job() = default;
};

class Lane {
 public:
  Lane(std::string device, std::unique_ptr<Engine> engine);
  /// No job may be queued, nor come.
  ~Lane();

  /// `order`: of the job among all jobs.
  void push(uint64_t order, Job& job, uint32_t call);

  const std::string& device() const { return device_; }
  bool is_lost() const { return lost_.load(std::memory_order_acquire); }
  /// Meaningful if it is lost.
  const Error& loss() const { return loss_; }

  // For the thread that works.
  Engine& engine() { return *engine_; }
  void lose(const Error& why);
  int64_t idle_since = 0;  // nanoseconds: the end of what it did last

 private:
  struct Item {
    uint64_t order;
    uint32_t call;
    Job* job;
    /// For a heap whose first is the oldest.
    bool operator<(const Item& other) const { return order != other.order ? order > other.order : call > other.call; }
  };
  void loop();
  std::optional<Item> take();
  void wait_for_more(uint32_t seen);

  const std::string device_;
  const std::unique_ptr<Engine> engine_;
  std::mutex mutex_;
  std::vector<Item> queue_;  // a heap
  Error loss_;
  std::atomic<bool> lost_{false}, stop_{false};
  alignas(64) std::atomic<uint32_t> pushed_{0};  // how often; changes wake the thread
  std::atomic<bool> sleeps_{false};
  std::thread thread_;
};

/// Of a steady clock.
int64_t now_ns();

}  // namespace gart::fleet
