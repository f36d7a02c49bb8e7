// Times that groups took on the devices that they ran on, over the last runs.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

namespace gart::fleet {

/// Median, and half of the interquartile range, in microseconds.
struct Spread {
  double median = 0, noise = 0;
};

/// The last samples of one quantity. The very first sample, a cold one, is left out.
class Samples {
 public:
  struct Times {
    int64_t operation_ns = 0, idle_ns = 0, begin_ns = 0;  // begin: time since the run began
  };
  void add(const Times& times);
  int64_t count() const { return count_ > 0 ? count_ - 1 : 0; }
  Spread operation() const { return spread(operation_); }
  Spread idle() const { return spread(idle_); }
  Spread begin() const { return spread(begin_); }

 private:
  static constexpr int64_t kKept = 128;
  using Ring = std::array<int32_t, kKept>;  // nanoseconds; times above two seconds are negative microseconds
  Spread spread(const Ring& ring) const;
  Ring operation_ = {}, idle_ = {}, begin_ = {};
  int64_t count_ = 0;
};

/// One group's times in one run.
struct GroupSample {
  uint32_t group = 0, device = 0;
  bool crossed = false;  // True if another device made one of its inputs
  Samples::Times times;
};

class Monitor {
 public:
  /// `on`: True if times are recorded.
  Monitor(size_t groups, size_t devices, bool on) : on_(on), devices_(devices), samples_(groups * devices * 2) {}

  bool is_on() const { return on_; }

  void add(const std::vector<GroupSample>& groups, int64_t run_ns);
  Samples of(uint32_t group, uint32_t device, bool crossed) const;
  Samples runs() const;
  void forget();

 private:
  size_t place_of(uint32_t group, uint32_t device, bool crossed) const {
    return (group * devices_ + device) * 2 + size_t(crossed);
  }

  const bool on_;
  const size_t devices_;
  mutable std::mutex mutex_;
  std::vector<std::vector<Samples>> samples_;  // each entry is empty or has one element, which the first sample makes
  Samples runs_;
};

}  // namespace gart::fleet
