#include "runtime/fleet/monitor.h"

#include <algorithm>

namespace gart::fleet {
namespace {

int32_t packed(int64_t ns) { return ns <= INT32_MAX ? int32_t(ns) : int32_t(-std::min<int64_t>(ns / 1000, INT32_MAX)); }
double microseconds(int32_t packed) { return packed >= 0 ? packed / 1000.0 : -double(packed); }

}  // namespace

void Samples::add(const Times& times) {
  if (count_++ == 0) return;
  const size_t at = size_t(count_ - 2) % kKept;
  operation_[at] = packed(times.operation_ns);
  idle_[at] = packed(times.idle_ns);
  begin_[at] = packed(times.begin_ns);
}

Spread Samples::spread(const Ring& ring) const {
  const auto sample_count = size_t(std::min(count(), kKept));
  if (sample_count == 0) return {};
  std::vector<double> times;
  times.reserve(sample_count);
  for (size_t i = 0; i < sample_count; ++i) times.push_back(microseconds(ring[i]));
  std::sort(times.begin(), times.end());
  return {times[sample_count / 2], (times[sample_count * 3 / 4] - times[sample_count / 4]) / 2};
}

void Monitor::add(const std::vector<GroupSample>& groups, int64_t run_ns) {
  const std::lock_guard lock(mutex_);
  for (const GroupSample& sample : groups) {
    std::vector<Samples>& place = samples_[place_of(sample.group, sample.device, sample.crossed)];
    if (place.empty()) place.resize(1);
    place[0].add(sample.times);
  }
  runs_.add({run_ns, 0, 0});
}

Samples Monitor::of(uint32_t group, uint32_t device, bool crossed) const {
  const std::lock_guard lock(mutex_);
  const std::vector<Samples>& place = samples_[place_of(group, device, crossed)];
  return place.empty() ? Samples() : place[0];
}

Samples Monitor::runs() const {
  const std::lock_guard lock(mutex_);
  return runs_;
}

void Monitor::forget() {
  const std::lock_guard lock(mutex_);
  for (std::vector<Samples>& place : samples_) place.clear();
  runs_ = {};
}

}  // namespace gart::fleet
