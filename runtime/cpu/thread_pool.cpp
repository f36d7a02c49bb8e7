#include "runtime/cpu/thread_pool.h"

#include <algorithm>

namespace gart::cpu {
namespace {

constexpr std::chrono::milliseconds kRemembered(10);

}  // namespace

ThreadPool::ThreadPool(int replicas, int threads, int64_t spin_us, const std::optional<Cores>& cores)
    : all_(replicas * threads), most_(threads), spin_us_(spin_us), useful_(replicas * (threads - 1)) {
  try {
    for (int i = 0; i < useful_; ++i) {
      Helper& helper = helpers_.emplace_back(threads, spin_us);
      helper.thread = std::thread(&ThreadPool::work, this, std::ref(helper), i, cores);
    }
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  if (!here()) {  // the threads belong to another process, so there is nothing to join
    new std::list<Helper>(std::move(helpers_));
    return;
  }
  stop_ = true;
  for (Helper& helper : helpers_) {
    if (!helper.thread.joinable()) continue;
    helper.call.advance();
    helper.thread.join();
  }
}

void ThreadPool::work(Helper& helper, int index, std::optional<Cores> cores) {
  if (cores) cores->bind();
  for (uint32_t seen = 0;; seen = helper.call.value()) {
    ThreadTeam* const team = helper.team;
    if (team != nullptr) team->work(helper.place);
    helper.call.wait(seen, spin_us_, &useful_, index);
    if (stop_) return;
  }
}

/// Estimates the number of callers: as many as were inside at the same time recently. The estimate falls only after
/// fewer were inside for some time, because the gaps between short runs are as long as the runs.
int ThreadPool::learn_callers() {
  const auto now = std::chrono::steady_clock::now();
  met_ = std::max(met_, inside_);
  const bool fewer = ++came_ >= callers_ && now - all_met_ > kRemembered;
  if (met_ >= callers_ || fewer) {
    callers_ = met_;
    came_ = met_ = 0;
    all_met_ = now;
  }
  return callers_;
}

ThreadTeam* ThreadPool::enter(bool excludes) {
  if (!here()) return nullptr;
  const std::lock_guard lock(mutex_);
  ++inside_;
  const int callers = excludes ? inside_ : learn_callers();
  const int part = std::min(most_, (all_ + callers - 1) / callers) - 1;
  useful_.store(all_ - callers, std::memory_order_relaxed);
  int left = std::min(part, all_ - callers - taken_);
  ThreadTeam* team = nullptr;
  for (auto helper = helpers_.begin(); helper != helpers_.end() && left > 0; ++helper) {
    if (helper->team != nullptr) continue;
    if (team == nullptr) team = &helper->own_team;
    helper->team = team;
    team->take(helper->call);
    helper->place = team->size() - 1;
    --left, ++taken_;
  }
  return team;
}

void ThreadPool::leave(ThreadTeam* team) {
  if (!here()) return;
  const std::lock_guard lock(mutex_);
  --inside_;
  if (team == nullptr) return;
  taken_ -= team->size() - 1;
  for (Helper& helper : helpers_)
    if (helper.team == team) helper.team = nullptr;
  team->dismiss();
}

}  // namespace gart::cpu
