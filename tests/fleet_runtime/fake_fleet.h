// Fleets whose devices are functions: what lanes and requests do, without files and kernels.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/fleet/fleet.h"

namespace gart::fleet::test {

/// Every value is an i64 scalar; call c's output is mixed(c, its inputs).
struct FakeModel {
  Assembly assembly;
  explicit FakeModel(uint32_t inputs, uint32_t devices);
  /// A call of these values on a group of its own, which every device supports; gives its value.
  uint32_t call(std::vector<uint32_t> inputs, uint32_t device = 0);
  void output(uint32_t value);
};

int64_t mixed(uint32_t call, const std::vector<int64_t>& inputs);
/// All values, for these inputs.
std::vector<int64_t> evaluated(const Assembly& assembly, const std::vector<int64_t>& inputs);

/// A number for tests to set and devices to count in, on a cache line of its own: devices share none.
template <class T>
struct alignas(64) Own : std::atomic<T> {
  using std::atomic<T>::operator=;
};

/// The behaviour of the devices; shared with the test, which may change it while they run.
struct FakeWorld {
  std::vector<Own<int64_t>> work_ns;       // per device: what a call takes there, spinning
  std::vector<Own<int64_t>> sleep_ns;      // ... sleeping, as a device of its own would
  std::vector<Own<bool>> lost;             // per device: the next call loses it
  std::vector<Own<int64_t>> calls;         // per device: that were made
  std::vector<Own<bool>> is_apart;         // per device: it has memory of its own; not to be changed while they run
  std::vector<Own<int64_t>> fetched;       // per device: values from another device's memory
  std::vector<Own<int64_t>> returned;      // per device: values from its memory to the host's
  std::atomic<int64_t> poison{INT64_MIN};  // calls with this among their inputs fail
  explicit FakeWorld(size_t devices)
      : work_ns(devices),
        sleep_ns(devices),
        lost(devices),
        calls(devices),
        is_apart(devices),
        fetched(devices),
        returned(devices) {}
};

std::shared_ptr<detail::FleetState> open_fake(const Assembly& assembly, std::shared_ptr<FakeWorld> world,
                                              std::vector<uint32_t> places = {}, int requests = 16,
                                              bool monitored = true, bool dynamic = false);

/// A request with inputs of its own.
struct FakeRequest {
  explicit FakeRequest(const std::shared_ptr<detail::FleetState>& fleet);
  Result<void> start(const std::vector<int64_t>& inputs, std::vector<uint32_t> fetch = {});
  Result<void> wait() { return request.wait(); }
  int64_t output(size_t index) { return request.output(index).elements<int64_t>()[0]; }
  std::shared_ptr<detail::FleetState> fleet;
  std::vector<int64_t> values;
  Request request;
};

}  // namespace gart::fleet::test
