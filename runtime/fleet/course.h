// Where the groups of one running request are, and what they add to the expected work and to the memory of devices.
//
// A group's lane is final before any of its calls is queued, so threads read the lanes of calls that may begin without
// a lock.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/fleet/assembly.h"
#include "runtime/fleet/lane.h"
#include "runtime/fleet/placement.h"
#include "runtime/fleet/route.h"

namespace gart::fleet {

class Course {
 public:
  explicit Course(const Assembly& assembly);

  // Called while no call runs:
  /// Takes over a placement. `route` must live until end(). `sizes`: per value: its bytes; 0: not known yet.
  void follow(std::shared_ptr<const Placement> placement, const Route& route, std::span<const int64_t> sizes);
  /// Adds the expected work and memory of all groups to their devices. `order`: the request's number.
  void begin(uint64_t order) noexcept;
  /// Removes what is left of them.
  void end() noexcept;

  Lane& lane_of(uint32_t call) const { return *lane_[assembly_.calls[call].group]; }
  /// The lane that would run a call on a device; null if the call may not run there.
  Lane* lane_on(uint32_t device, uint32_t call) const;
  const std::shared_ptr<const Placement>& placement() const { return placement_; }
  const std::vector<uint32_t>& devices() const { return device_; }  // per group
  /// True if groups get their final devices while the request runs.
  bool chooses() const { return placement_->chooser != nullptr; }
  /// True if some group is not where the placement put it.
  bool has_moved() const { return moved_; }
  /// Counts a call that has ended, on the thread that ran it.
  void end_call(uint32_t call) noexcept;

  // Called while calls run, by threads that hold mutex(), and only if the course chooses:
  std::mutex& mutex() { return mutex_; }
  bool is_final(uint32_t group) const { return final_[group] != 0; }
  int64_t size_of(uint32_t value) const { return sizes_[value]; }
  /// Says how large a value is whose size was not known.
  void set_size(uint32_t value, int64_t bytes);
  /// Chooses the final device of a group. `reached`: per device: 1 if the group's inputs can be read there. True if the
  /// group has moved. Throws Failure.
  bool choose(uint32_t group, std::span<const uint8_t> reached);
  /// The group's calls on the route.
  std::span<const uint32_t> calls_of(uint32_t group) const { return calls_[group]; }

 private:
  /// Adds the group's work to its device, or removes it (`sign` -1).
  void count(uint32_t group, int sign) noexcept;
  void sum_up();

  const Assembly& assembly_;
  std::shared_ptr<const Placement> placement_;
  const Route* route_ = nullptr;
  std::vector<uint32_t> device_;                   // per group
  std::vector<Lane*> lane_;                        // per group
  std::vector<int64_t> us_;                        // per group; empty: nothing is added to devices
  std::unique_ptr<std::atomic<uint32_t>[]> left_;  // per group: calls that have not ended
  std::vector<Expected> expected_;                 // per device
  uint64_t order_ = 0;
  bool moved_ = false;
  std::vector<int64_t> sizes_;  // per value
  std::vector<int64_t> held_;   // per group: bytes of its results, as its device counts them
  // Used if the course chooses, and guarded by mutex_ while calls run:
  std::mutex mutex_;
  std::vector<std::vector<uint32_t>> calls_;  // per group
  std::vector<uint8_t> final_;                // per group
  ValueBytes values_;                         // values of final groups
  std::vector<int64_t> ahead_, held_on_;      // per device: see RequestProgress
  std::vector<int> groups_;
};

}  // namespace gart::fleet
