// The limit of the age of the states from which asynchronous replicas compute their gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcg::tools {

/// Counts updates. The staleness of a replica is the number of updates since it read the states. Not safe for
/// concurrent use by several threads.
class Staleness {
 public:
  /// No replica's staleness exceeds `limit` at its own update.
  Staleness(size_t replicas, int64_t limit) : begun_(replicas, kIdle), limit_(limit) {}

  /// True if one more replica may read the states, because all replicas can then still update within the limit.
  bool can_begin() const;
  void begin(size_t replica) { begun_[replica] = updates_; }
  /// True if all other replicas can still update within the limit after this replica's update.
  bool can_update(size_t replica) const;
  void update(size_t replica);
  /// The replica has failed and will not update.
  void drop(size_t replica) { begun_[replica] = kIdle; }

  int64_t updates() const { return updates_; }
  int64_t largest() const { return largest_; }
  double mean() const { return updates_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(updates_); }

 private:
  static constexpr int64_t kIdle = -1;
  bool can_finish(size_t without, int64_t more_updates, int64_t more_replicas) const;

  std::vector<int64_t> begun_;  // by replica: number of updates when it read the states; kIdle: it computes nothing
  int64_t limit_, updates_ = 0, largest_ = 0, sum_ = 0;
};

}  // namespace gcg::tools
