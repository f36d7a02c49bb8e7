// What groups took on the devices that they ran on, over the last runs.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

namespace gart::fleet {

/// Median, and half of what lies between the quartiles. In microseconds.
struct Spread {
  double median = 0, noise = 0;
};

/// The last samples of one thing. The first of all, a cold one, is left out.
class Samples {
 public:
  void add(int64_t operation_ns, int64_t idle_ns);
  int64_t count() const { return count_ > 0 ? count_ - 1 : 0; }
  Spread operation() const { return spread(operation_); }
  Spread idle() const { return spread(idle_); }

 private:
  static constexpr int64_t kKept = 128;
  using Ring = std::array<int32_t, kKept>;  // nanoseconds, those above two seconds in microseconds below 0
  Spread spread(const Ring& ring) const;
  Ring operation_ = {}, idle_ = {};
  int64_t count_ = 0;
};

/// Of one run.
struct GroupSample {
  uint32_t group = 0, device = 0;
  int64_t operation_ns = 0, idle_ns = 0;
};

class Monitor {
 public:
  Monitor(size_t groups, size_t devices) : devices_(devices), samples_(groups * devices) {}

  void add(const std::vector<GroupSample>& groups, int64_t run_ns);
  /// Of group and device.
  Samples of(uint32_t group, uint32_t device) const;
  Samples runs() const;
  void forget();

 private:
  const size_t devices_;
  mutable std::mutex mutex_;
  std::vector<std::vector<Samples>> samples_;  // none or one, made by the first sample
  Samples runs_;
};

}  // namespace gart::fleet
