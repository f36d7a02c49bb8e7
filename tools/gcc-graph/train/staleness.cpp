#include "tools/gcc-graph/train/staleness.h"

#include <algorithm>
#include <functional>

namespace gcg::tools {

/// Best case: replicas update in the order of their ages, the oldest first. The i-th of them, counted from 0, then
/// waits for i further updates.
bool Staleness::can_finish(size_t without, int64_t more_updates, int64_t more_replicas) const {
  std::vector<int64_t> ages(static_cast<size_t>(more_replicas), 0);
  for (size_t r = 0; r < begun_.size(); ++r)
    if (r != without && begun_[r] != kIdle) ages.push_back(updates_ + more_updates - begun_[r]);
  std::sort(ages.begin(), ages.end(), std::greater<>());
  for (size_t i = 0; i < ages.size(); ++i)
    if (ages[i] + static_cast<int64_t>(i) > limit_) return false;
  return true;
}

bool Staleness::can_begin() const { return can_finish(begun_.size(), 0, 1); }

bool Staleness::can_update(size_t replica) const { return can_finish(replica, 1, 0); }

void Staleness::update(size_t replica) {
  const int64_t age = updates_ - begun_[replica];
  largest_ = std::max(largest_, age);
  sum_ += age;
  ++updates_;
  drop(replica);
}

}  // namespace gcg::tools
