// How old the states may be from which asynchronous replicas compute their gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcg::tools {

/// Counts updates. The staleness of a replica that computes gradients is the number of updates since it has read the
/// states. Not safe for use by several threads at the same time.
class Staleness {
 public:
  /// No replica's staleness exceeds `limit` at its own update.
  Staleness(size_t replicas, int64_t limit) : begun_(replicas, kIdle), limit_(limit) {}

  /// True if one more replica may read the states: all of them can still finish within the limit.
  bool can_begin() const;
  void begin(size_t replica) { begun_[replica] = updates_; }
  /// True if the others can still finish within the limit after this replica's update.
  bool can_update(size_t replica) const;
  void update(size_t replica);
  /// The replica gives up.
  void drop(size_t replica) { begun_[replica] = kIdle; }

  int64_t updates() const { return updates_; }
  int64_t largest() const { return largest_; }
  double mean() const { return updates_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(updates_); }

 private:
  static constexpr int64_t kIdle = -1;
  bool can_finish(size_t without, int64_t more_updates, int64_t more_replicas) const;

  std::vector<int64_t> begun_;  // by replica: updates before it read the states
  int64_t limit_, updates_ = 0, largest_ = 0, sum_ = 0;
};

}  // namespace gcg::tools
