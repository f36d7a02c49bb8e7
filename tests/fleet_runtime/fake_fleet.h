// Fleets whose devices are functions, to test lanes and requests without files and kernels.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/fleet/fleet.h"

namespace gart::fleet::test {

/// Every value is an i64 scalar; call c's output is mixed(c, its inputs).
struct FakeModel {
  Assembly assembly;
  explicit FakeModel(uint32_t inputs, uint32_t devices);
  /// Adds a call that reads these values, in a group of its own that every device supports. Returns the call's value.
  uint32_t call(std::vector<uint32_t> inputs, uint32_t device = 0);
  /// The same, but the value is a vector. The call decides its extent, FakeWorld::extent, when it runs.
  uint32_t vector_call(std::vector<uint32_t> inputs, uint32_t device = 0);
  void output(uint32_t value);
};

int64_t mixed(uint32_t call, const std::vector<int64_t>& inputs);
/// Computes all values for these inputs.
std::vector<int64_t> evaluated(const Assembly& assembly, const std::vector<int64_t>& inputs);

/// A number that tests set and devices increment. It has its own cache line, so that devices do not share a line.
template <class T>
struct alignas(64) Own : std::atomic<T> {
  using std::atomic<T>::operator=;
};

/// The behaviour of the devices; shared with the test, which may change it while they run.
struct FakeWorld {
  std::vector<Own<int64_t>> work_ns;       // per device: microseconds of a call, spinning
  std::vector<Own<int64_t>> sleep_ns;      // the same, but the call sleeps, like one on a separate device
  std::vector<Own<bool>> lost;             // per device: the next call loses the device
  std::vector<Own<int64_t>> calls;         // per device: number of calls
  std::vector<Own<int64_t>> inside;        // per device: number of calls that run
  std::vector<Own<bool>> overlaps;         // per device: two calls ran at the same time
  std::vector<Own<bool>> is_apart;         // per device: true if it has its own memory; must not change during runs
  std::vector<Own<int64_t>> fetched;       // per device: number of values copied from other devices' memory
  std::vector<Own<int64_t>> returned;      // per device: number of values copied to the host
  std::atomic<int64_t> poison{INT64_MIN};  // calls with this input value fail
  std::atomic<int64_t> extent{1};          // extent of vectors that calls return
  /// Called with a device when parts are loaded there; may throw.
  std::function<void(uint32_t)> loading = [](uint32_t) {};
  explicit FakeWorld(size_t devices)
      : work_ns(devices),
        sleep_ns(devices),
        lost(devices),
        calls(devices),
        inside(devices),
        overlaps(devices),
        is_apart(devices),
        fetched(devices),
        returned(devices) {}
};

std::shared_ptr<detail::FleetState> open_fake(const Assembly& assembly, std::shared_ptr<FakeWorld> world,
                                              std::vector<uint32_t> places = {}, int requests = 16,
                                              bool monitored = true, bool dynamic = false,
                                              std::shared_ptr<detail::DeviceQueues> queues = nullptr);

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
