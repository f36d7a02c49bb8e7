#include "runtime/fleet/lane.h"

#include <algorithm>
#include <chrono>

namespace gart::fleet {
namespace {

// What a hand-over takes many times. Not longer: where lanes share cores, or have a quota, spinning takes the time of
// whoever would hand something over.
constexpr int64_t kSpinNs = 30'000;
constexpr int kSpinsPerClockRead = 32;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

Lane::Lane(std::string device, std::unique_ptr<Engine> engine)
    : device_(std::move(device)), engine_(std::move(engine)) {
  queue_.reserve(1024);
  thread_ = std::thread(&Lane::loop, this);
}

Lane::~Lane() {
  stop_.store(true, std::memory_order_relaxed);
  pushed_.fetch_add(1, std::memory_order_seq_cst);
  pushed_.notify_all();
  thread_.join();
}

void Lane::push(uint64_t order, Job& job, uint32_t call) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({order, call, &job});
    std::push_heap(queue_.begin(), queue_.end());
  }
  // Either the sleeper's flag comes first and this sees it, or the count does and the sleeper sees that.
  pushed_.fetch_add(1, std::memory_order_seq_cst);
  if (sleeps_.load(std::memory_order_seq_cst)) pushed_.notify_one();
}

void Lane::lose(const Error& why) {
  if (is_lost()) return;
  loss_ = why;
  lost_.store(true, std::memory_order_release);
}

std::optional<Lane::Item> Lane::take() {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) return std::nullopt;
  std::pop_heap(queue_.begin(), queue_.end());
  const Item item = queue_.back();
  queue_.pop_back();
  return item;
}

/// Returns once something was pushed since `seen`: spins, then sleeps.
void Lane::wait_for_more(uint32_t seen) {
  for (const int64_t end = now_ns() + kSpinNs; now_ns() < end;) {
    for (int i = 0; i < kSpinsPerClockRead; ++i) {
      if (pushed_.load(std::memory_order_acquire) != seen) return;
      relax();
    }
  }
  sleeps_.store(true, std::memory_order_seq_cst);
  pushed_.wait(seen, std::memory_order_seq_cst);
  sleeps_.store(false, std::memory_order_relaxed);
}

void Lane::loop() {
  engine_->begin_thread();
  while (true) {
    const uint32_t seen = pushed_.load(std::memory_order_acquire);
    if (const std::optional<Item> item = take()) {
      item->job->work(*this, item->call);
    } else if (stop_.load(std::memory_order_relaxed)) {
      return;
    } else {
      wait_for_more(seen);
    }
  }
}

}  // namespace gart::fleet
