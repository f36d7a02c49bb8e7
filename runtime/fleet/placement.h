// The devices on which the groups of a request run.
//
// A placement is made when the request begins. If requests choose devices, a group's device is chosen again when its
// first call may begin: its inputs exist then, so their sizes are known, and so is the work that older requests have
// left on each device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gart::fleet {

class Lane;
class Chooser;

/// The device and the lane of each group.
struct Placement {
  std::vector<uint32_t> device;  // per group
  std::vector<Lane*> lane;       // per group
  bool has_spaces = false;       // True if some lane that may run a group has a device with memory of its own
  std::vector<int64_t> us;       // per group: the microseconds that it adds to its lane's expected work; empty: nothing
                                 // is added
  Chooser* chooser = nullptr;    // chooses a group's device again when the group may begin; null: the group stays
};

/// Bytes of a request's values on each device. A value counts once on a device, however many calls make or read it
/// there.
class ValueBytes {
 public:
  void reset(size_t values, size_t devices) {
    bytes_.assign(devices, 0);
    there_.assign(values * devices, 0);
  }
  bool has(uint32_t value, uint32_t device) const { return there_[value * bytes_.size() + device] != 0; }
  void add(uint32_t value, uint32_t device, int64_t bytes) {
    if (has(value, device)) return;
    there_[value * bytes_.size() + device] = 1;
    bytes_[device] += bytes;
  }
  /// Adds bytes of a value whose size was not known, on each device that has it.
  void grow(uint32_t value, int64_t bytes) {
    for (uint32_t device = 0; device < bytes_.size(); ++device)
      if (has(value, device)) bytes_[device] += bytes;
  }
  int64_t on(uint32_t device) const { return bytes_[device]; }

 private:
  std::vector<int64_t> bytes_;  // per device
  std::vector<uint8_t> there_;  // values x devices
};

/// A request that runs, as far as the choice of a group's device depends on it.
struct RequestProgress {
  uint64_t order = 0;                // the request's number among all requests of the process
  std::span<const uint32_t> device;  // per group
  std::span<const int64_t> sizes;    // per value: its bytes; 0: not known yet
  const ValueBytes& values;          // the values of groups whose devices are final
  std::span<const int64_t> ahead;    // per device: microseconds that such groups still work there
  std::span<const int> groups;       // per device: the number of such groups
  std::span<const int64_t> held;     // per device: the bytes of the request's values that the device counts
  std::span<const uint8_t> reached;  // per device: 1 if the group's inputs can be read there
  std::span<const uint32_t> calls;   // the group's calls that the request needs
};

/// A device for a group.
struct GroupDevice {
  uint32_t device = 0;
  Lane* lane = nullptr;
  int64_t us = 0;  // the microseconds that the group adds to the lane's expected work
};

class Chooser {
 public:
  virtual ~Chooser() = default;
  /// The device on which a group that may begin is estimated to end first. Throws Failure if no device has room for it.
  virtual GroupDevice choose_now(uint32_t group, const RequestProgress& request) = 0;
  /// The lane that would run the group on a device; null if the group may not run there.
  virtual Lane* lane(uint32_t group, uint32_t device) const = 0;
};

}  // namespace gart::fleet
