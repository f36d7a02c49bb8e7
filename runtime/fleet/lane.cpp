#include "runtime/fleet/lane.h"

#include <chrono>
#include <new>
#include <utility>

#include "artifact_schema/lane_limits.h"
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

Lane::Lane(std::string device, std::unique_ptr<Engine> engine)
    : device_(std::move(device)), engine_(std::move(engine)) {
  thread_ = std::thread(&Lane::loop, this);
}

void Lane::end() {
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

void Lane::push(QueuedCall& queued) {
  queued.next = inbox_.load(std::memory_order_relaxed);
  while (!inbox_.compare_exchange_weak(queued.next, &queued, std::memory_order_seq_cst, std::memory_order_relaxed)) {
  }
  // Either the sleeper sets its flag first, and this function sees the flag. Or the call is pushed first, and the
  // sleeper sees the call.
  if (!sleeps_.load(std::memory_order_seq_cst)) return;
  awakenings_.fetch_add(1, std::memory_order_release);
  awakenings_.notify_one();
}

void Lane::keep(QueuedCall& queued) {
  queued.next = queued.left = nullptr;
  queue_ = merged(queue_, &queued);
}

void Lane::lose(const Error& why) noexcept {
  if (is_lost()) return;
  try {
    loss_ = why;
  } catch (const std::bad_alloc&) {
    loss_.code = why.code;
  }
  lost_.store(true, std::memory_order_release);
}

void Lane::collect() {
  if (inbox_.load(std::memory_order_relaxed) == nullptr) return;
  for (QueuedCall* queued = inbox_.exchange(nullptr, std::memory_order_acquire); queued != nullptr;) {
    QueuedCall& next = *std::exchange(queued, queued->next);
    keep(next);
  }
}

QueuedCall& Lane::take() {
  QueuedCall& queued = *queue_;
  queue_ = merged(queued.left, queued.next);
  return queued;
}

/// Returns when the inbox may hold something: spins, then sleeps.
void Lane::wait_for_more() {
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

void Lane::loop() {
  engine_->begin_thread();
  while (true) {
    collect();
    if (queue_ != nullptr) {
      const QueuedCall& queued = take();
      queued.job->work(*this, queued.call);
    } else if (stop_.load(std::memory_order_relaxed)) {
      return;
    } else {
      wait_for_more();
    }
  }
}

}  // namespace gart::fleet
