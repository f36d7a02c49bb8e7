// Deadlines, idle sequences, and the end of the lanes' work.
#include "tools/serve/lanes.h"

namespace gcg::serve {

/// Takes out requests whose deadline has passed, and sequences that were idle for too long, and queues tasks whose time
/// has come. Returns the time of the next such event.
Clock::time_point Lanes::expire(Batch& expired) {
  const Clock::time_point now = Clock::now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    auto job = extract(deadlines_.begin()->second);
    const std::string key = job->sequence;
    expired.push_back(std::move(job));
    if (key.empty()) continue;
    // Ends the sequence, because later requests would run without the effect of this one.
    const auto found = sequences_.find(key);
    if (found == sequences_.end()) continue;
    if (found->second.current == expired.back()->order) {
      for (const Order& order : found->second.pending)
        if (auto other = extract(order)) expired.push_back(std::move(other));
      sequences_.erase(found);
    } else {
      drop_sequence(key, expired);
    }
  }
  while (!idle_.empty() && sequences_.at(idle_.front()).last_use + options_.sequence_idle <= now)
    drop_sequence(std::string(idle_.front()), expired);
  for (; !later_tasks_.empty() && later_tasks_.begin()->first <= now; later_tasks_.erase(later_tasks_.begin())) {
    tasks_.push_back(std::move(later_tasks_.begin()->second));
    work_.notify_one();
  }
  Clock::time_point next = deadlines_.empty() ? Clock::time_point::max() : deadlines_.begin()->first;
  if (!later_tasks_.empty()) next = std::min(next, later_tasks_.begin()->first);
  if (!idle_.empty()) next = std::min(next, sequences_.at(idle_.front()).last_use + options_.sequence_idle);
  return next;
}

void Lanes::keep_time() {
  for (;;) {
    Batch expired;
    {
      std::unique_lock lock(mutex_);
      if (is_stopping_) return;
      const Clock::time_point next = expire(expired);
      if (expired.empty() && next == Clock::time_point::max()) {
        time_.wait(lock);
      } else if (expired.empty()) {
        time_.wait_until(lock, next);
      }
    }
    for (auto& job : expired)
      refuse_job(*job, 504,
                 job->deadline <= Clock::now() ? "the request's timeout passed before its run began"
                                               : "an earlier request of the sequence timed out");
    if (expired.empty()) continue;
    const std::lock_guard lock(mutex_);
    if (running_ == 0 && jobs_.empty()) idle_lanes_.notify_all();
  }
}

void Lanes::run_task(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  work_.notify_one();
}

void Lanes::run_task_at(Clock::time_point time, std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  later_tasks_.emplace(time, std::move(task));
  time_.notify_one();
}

bool Lanes::drain(Clock::time_point latest) {
  std::unique_lock lock(mutex_);
  is_draining_ = true;
  return idle_lanes_.wait_until(
      lock, latest, [&] { return running_ == 0 && jobs_.empty() && tasks_.empty() && later_tasks_.empty(); });
}

void Lanes::end_sequences(const Model& model) {
  Batch refused;
  {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> keys;
    for (const auto& [key, sequence] : sequences_)
      if (sequence.model.get() == &model) keys.push_back(key);
    for (const std::string& key : keys) drop_sequence(key, refused);
  }
  for (auto& job : refused) refuse_job(*job, 503, "the model was unloaded, which ended the sequence");
}

size_t Lanes::waiting() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

size_t Lanes::sequences() const {
  const std::lock_guard lock(mutex_);
  return sequences_.size();
}

}  // namespace gcg::serve
