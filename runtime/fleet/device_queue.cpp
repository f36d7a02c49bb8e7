#include "runtime/fleet/device_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "artifact_schema/lane_limits.h"
#include "runtime/errors.h"
#include "runtime/relax.h"

namespace gart::fleet {
namespace {

constexpr int kSpinsPerClockRead = 32;

bool is_later(const QueuedCall* a, const QueuedCall* b) {
  return a->order != b->order ? a->order > b->order : a->call > b->call;
}

/// Merges two skew heaps; null is an empty heap.
QueuedCall* merged(QueuedCall* a, QueuedCall* b) {
  QueuedCall* root = nullptr;
  QueuedCall** place = &root;
  while (a != nullptr && b != nullptr) {
    if (is_later(a, b)) std::swap(a, b);
    *place = a;
    QueuedCall* const right = std::exchange(a->next, a->left);
    place = &a->left;
    a = right;
  }
  *place = a != nullptr ? a : b;
  return root;
}

}  // namespace

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

DeviceQueue::DeviceQueue(std::string name, int64_t memory) : name_(std::move(name)), memory_(memory) {
  thread_ = std::thread(&DeviceQueue::loop, this);
}

void DeviceQueue::end() {
  if (!thread_.joinable()) return;
  if (!origin_.here()) {  // the thread belongs to another process, so there is nothing to join
    new std::thread(std::move(thread_));
    return;
  }
  stop_.store(true, std::memory_order_relaxed);
  awakenings_.fetch_add(1, std::memory_order_release);
  awakenings_.notify_all();
  thread_.join();
}

void DeviceQueue::push(QueuedCall& queued) {
  queued.next = inbox_.load(std::memory_order_relaxed);
  while (!inbox_.compare_exchange_weak(queued.next, &queued, std::memory_order_seq_cst, std::memory_order_relaxed)) {
  }
  // Either the sleeper sets its flag first, and this function sees the flag. Or the call is pushed first, and the
  // sleeper sees the call.
  if (!sleeps_.load(std::memory_order_seq_cst)) return;
  awakenings_.fetch_add(1, std::memory_order_release);
  awakenings_.notify_one();
}

void DeviceQueue::keep(QueuedCall& queued) {
  queued.next = queued.left = nullptr;
  queue_ = merged(queue_, &queued);
}

void DeviceQueue::expect(Expected& of, int groups, int64_t us) {
  {
    const std::lock_guard lock(expecting_);
    const bool was_linked = of.groups > 0;
    of.groups += groups;
    of.us += groups * us;
    if (!was_linked && of.groups > 0) {
      of.previous = nullptr;
      of.next = std::exchange(expected_, &of);
      if (of.next != nullptr) of.next->previous = &of;
    } else if (was_linked && of.groups == 0) {
      (of.previous != nullptr ? of.previous->next : expected_) = of.next;
      if (of.next != nullptr) of.next->previous = of.previous;
    }
  }
  groups_.fetch_add(groups, std::memory_order_relaxed);
  ahead_us_.fetch_add(groups * us, std::memory_order_relaxed);
}

Ahead DeviceQueue::ahead_of(uint64_t order) const {
  const std::lock_guard lock(expecting_);
  Ahead sum;
  for (const Expected* of = expected_; of != nullptr; of = of->next) {
    if (of->order >= order) continue;
    sum.groups += of->groups;
    sum.us += of->us;
  }
  return sum;
}

bool DeviceQueue::add_weights(int64_t bytes) {
  int64_t before = weight_bytes();
  do {
    if (bytes > 0 && memory_ > 0 && before + bytes > memory_) return false;
  } while (!weight_bytes_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  return true;
}

DeviceLoad DeviceQueue::load() const {
  const bool busy = busy_.load(std::memory_order_relaxed) || inbox_.load(std::memory_order_relaxed) != nullptr;
  return {name_,          busy,        lanes_.load(std::memory_order_relaxed), groups(), double(ahead_us()), memory_,
          weight_bytes(), held_bytes()};
}

void DeviceQueue::collect() {
  if (inbox_.load(std::memory_order_relaxed) == nullptr) return;
  for (QueuedCall* queued = inbox_.exchange(nullptr, std::memory_order_acquire); queued != nullptr;) {
    QueuedCall& next = *std::exchange(queued, queued->next);
    keep(next);
  }
}

QueuedCall& DeviceQueue::take() {
  QueuedCall& queued = *queue_;
  queue_ = merged(queued.left, queued.next);
  return queued;
}

/// Returns when the inbox may hold something: spins, then sleeps.
void DeviceQueue::wait_for_more() {
  for (const int64_t end = now_ns() + kLaneSpinNs; now_ns() < end;) {
    for (int i = 0; i < kSpinsPerClockRead; ++i) {
      if (inbox_.load(std::memory_order_relaxed) != nullptr) return;
      relax();
    }
  }
  const uint32_t seen = awakenings_.load(std::memory_order_acquire);
  sleeps_.store(true, std::memory_order_seq_cst);
  if (inbox_.load(std::memory_order_seq_cst) == nullptr && !stop_.load(std::memory_order_relaxed))
    awakenings_.wait(seen, std::memory_order_relaxed);
  sleeps_.store(false, std::memory_order_relaxed);
}

void DeviceQueue::loop() {
  while (true) {
    collect();
    if (queue_ != nullptr) {
      const QueuedCall& queued = take();
      busy_.store(true, std::memory_order_relaxed);
      queued.job->work(*queued.lane, queued.call);
    } else if (stop_.load(std::memory_order_relaxed)) {
      return;
    } else {
      busy_.store(false, std::memory_order_relaxed);
      wait_for_more();
    }
  }
}

namespace detail {

/// A thread that has just handed a call over may still look at the other queue, so all threads end first.
DeviceQueues::~DeviceQueues() {
  for (const auto& queue : queues_) queue->end();
}

DeviceQueue& DeviceQueues::of(const std::string& name) {
  if (!origin_.here())
    fail(ErrorCode::invalid_argument,
         "this process was forked after the manager was opened, and the threads belong to the parent: open another "
         "manager here");
  const std::lock_guard lock(mutex_);
  for (const auto& queue : queues_)
    if (!name.empty() && queue->name() == name) return *queue;
  const auto limit =
      std::find_if(memory_.begin(), memory_.end(), [&](const MemoryLimit& memory) { return memory.device == name; });
  queues_.push_back(std::make_unique<DeviceQueue>(name, limit == memory_.end() ? 0 : limit->bytes));
  return *queues_.back();
}

std::vector<DeviceLoad> DeviceQueues::loads() const {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceLoad> loads;
  for (const auto& queue : queues_) loads.push_back(queue->load());
  return loads;
}

}  // namespace detail

}  // namespace gart::fleet
