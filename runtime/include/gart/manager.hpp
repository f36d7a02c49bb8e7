// Devices that several programs share. libgart_fleet.so, over libgart.
//
//   auto manager = gart::fleet::Manager::open();
//   auto a = gart::fleet::load("a.gart", {.dynamic = true, .manager = &*manager});
//   auto b = gart::fleet::load("b.gart", {.dynamic = true, .manager = &*manager});
//   for (const gart::fleet::DeviceLoad& device : manager->devices()) ...
//
// Programs with one manager have one queue per device of this machine. A device works on one part at a time, of the
// oldest request of all these programs. Dynamic placement sees the work and the memory of all of them. Without a
// manager, each program has queues of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gart/result.h"
#include "gart/tensor.h"

namespace gart::fleet {

/// A limit for the weights and values of all programs on a device.
struct MemoryLimit {
  std::string device;  ///< a device of this machine, as in DeviceInfo.device: "cpu:0-1", "cuda:0"
  int64_t bytes = 0;
};

/// A device and its work at the time of the call.
struct DeviceLoad {
  std::string device;        ///< in the format of DeviceInfo.device; of another rank: "rank 1 cpu:0-1"
  bool busy = false;         ///< a part runs on it, or waits for it
  int programs = 0;          ///< programs with parts there; one that uses it as two of its file's devices counts twice
  int groups = 0;            ///< groups of running requests that are placed there
  double work_us = 0;        ///< microseconds that these groups take in all, by measurement or prediction
  int64_t memory = 0;        ///< the limit in bytes; 0: none was given
  int64_t weight_bytes = 0;  ///< weights of all programs there
  int64_t value_bytes = 0;   ///< values that running requests make there, as far as their sizes are known
};

namespace detail {
class DeviceQueues;
}  // namespace detail

/// Copies are cheap and share everything. Programs keep the queues that they use, so a manager may be destroyed first.
/// Any thread may use it.
class GART_API Manager {
 public:
  /// Devices that `memory` does not name have the memory that the programs' files give them. A name that no program's
  /// device has here limits nothing. Fails if a limit is not above 0 or a device is named twice.
  static Result<Manager> open(std::span<const MemoryLimit> memory = {});
  /// The devices on which programs were loaded, in the order of their first use.
  std::vector<DeviceLoad> devices() const;

  const std::shared_ptr<detail::DeviceQueues>& queues() const { return queues_; }

 private:
  explicit Manager(std::shared_ptr<detail::DeviceQueues> queues);
  std::shared_ptr<detail::DeviceQueues> queues_;
};

}  // namespace gart::fleet
