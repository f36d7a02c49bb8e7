// A model loaded on its devices: their lanes, and the device of each group.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "artifact_schema/reader.h"
#include "gart/fleet.hpp"
#include "runtime/fleet/assembly.h"
#include "runtime/fleet/candidate.h"
#include "runtime/fleet/placement.h"
#include "runtime/fleet/request.h"
#include "runtime/memory.h"

namespace gart::fleet {

/// Opens the engine of a device with the parts that it will run, or adds parts to an open engine. Throws Failure.
class Engines {
 public:
  virtual ~Engines() = default;
  virtual std::unique_ptr<Engine> open(uint32_t device, std::span<const uint32_t> parts) = 0;
  virtual void add(Engine& engine, std::span<const uint32_t> parts) = 0;
  virtual DeviceInfo describe(const Engine& engine) const = 0;
};

namespace detail {

struct FleetState final : Chooser {
  /// Opens the devices on which groups are placed. `requests`: the number that may run at once. `choices`: groups x
  /// devices; 1 if a request may run the group on that device. If `choices` is empty, groups stay on their `places`.
  /// `shared`: the queues that it shares with other programs; null: it has its own.
  FleetState(Assembly model, std::unique_ptr<Engines> device_engines, std::vector<uint32_t> places, int requests,
             bool monitored = true, std::vector<uint8_t> choices = {}, bool waits = true,
             std::shared_ptr<DeviceQueues> shared = nullptr);

  /// The placement of requests that begin now. Moves groups of lost devices; fails if a group has no device left.
  /// `sizes`: bytes of each value, used if each request chooses devices; empty: not known.
  std::shared_ptr<const Placement> placement(std::span<const int64_t> sizes = {});
  std::shared_ptr<const Route> route(const std::vector<uint32_t>& requested);
  DeviceInfo device(uint32_t index);
  /// The device of each group. If requests choose devices, the choice of the last request.
  std::vector<uint32_t> places() const;
  GroupDevice choose_now(uint32_t group, const RequestProgress& request) override;
  Lane* lane(uint32_t group, uint32_t device) const override {
    return may_run(group, device) ? lanes_[device].get() : nullptr;
  }

  const Assembly assembly;
  std::vector<TensorInfo> inputs, outputs, values;
  Gate gate;
  Monitor monitor;

 private:
  static constexpr uint64_t kTimesKept = 64;          // number of requests after which times are looked up again
  bool chooses() const { return !choices_.empty(); }  // True if each request chooses devices
  size_t at(uint32_t group, uint32_t device) const { return group * lanes_.size() + device; }
  /// The values that a group reads and makes, and those that the request already has on the devices.
  struct Values {
    uint32_t group = 0;
    std::span<const uint32_t> calls;  // the group's calls
    std::span<const int64_t> sizes;   // per value; empty: not known
    const ValueBytes& before;
    std::span<const int64_t> held;  // per device: the request's values that the device's queue counts; may be empty
  };
  /// Calls f for each of the group's values; may call it several times for a value.
  template <class F>
  void for_each_value(const Values& of, const F& f) const {
    for (const uint32_t call : of.calls)
      for (const auto* list : {&assembly.calls[call].inputs, &assembly.calls[call].outputs})
        for (const uint32_t value : *list) f(value);
  }
  bool may_run(uint32_t group, uint32_t device) const;
  std::vector<uint32_t> parts_on(uint32_t device) const;
  /// Releases the lock while it loads code and starts a thread.
  void open(uint32_t device, std::unique_lock<std::mutex>& lock);
  std::unique_ptr<Lane> make_lane(uint32_t device, std::span<const uint32_t> parts) const;
  void add_parts(Lane& lane, std::span<const uint32_t> parts, int64_t weights) const;
  void try_open(uint32_t device, std::unique_lock<std::mutex>& lock);
  void keep_what_fits(uint32_t device);
  std::shared_ptr<Placement> make_placement();
  void publish();
  bool is_lost(uint32_t group) const;
  void place_anew(uint32_t group, std::unique_lock<std::mutex>& lock);
  [[noreturn]] void fail_lost(uint32_t group, uint32_t device, const std::string& reasons) const;
  void look_up_times();
  std::shared_ptr<const Placement> place_by_load(std::span<const int64_t> sizes);
  void plan(uint32_t group, std::span<const int64_t> sizes);
  Candidate planned_candidate(uint32_t group, uint32_t device) const;
  Candidate current_candidate(uint32_t group, uint32_t device, const RequestProgress& request) const;
  bool may_hold(const Values& of, uint32_t device, Candidate& as) const;
  std::pair<uint32_t, Candidate> best_device(const Values& of, const RequestProgress* request) const;
  int64_t bytes_with(const Values& of, uint32_t device) const;
  void sum_weights();
  [[noreturn]] void fail_too_small(const Values& of) const;
  double time_of(uint32_t group, uint32_t device) const;
  double load_of(uint32_t device, uint32_t with) const;
  bool has_room(uint32_t device, uint32_t with) const;
  int64_t memory_of(uint32_t device) const;
  int64_t weights_on(uint32_t device) const;

  const bool shares_;  // True if other programs may use the same queues
  const std::shared_ptr<DeviceQueues> queues_;
  const std::unique_ptr<Engines> engines_;
  std::mutex moving_;         // held by the thread that moves groups of lost devices; mutex_ is held only for parts of
                              // that time
  mutable std::mutex mutex_;  // guards all members below
  // Per group: its device or, if requests choose, the device that the last one chose.
  std::vector<uint32_t> places_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // per device; null: not opened
  std::shared_ptr<const Placement> placement_;
  std::map<std::vector<uint32_t>, std::shared_ptr<const Route>> routes_;
  uint64_t requests_ = 0;  // number of requests for which times were looked up
  // Used if each request chooses:
  std::vector<uint8_t> choices_;                            // groups x devices; 1: the group may run there
  const int most_waiting_;                                  // if this many groups wait for a device, it is full
  std::vector<double> times_;                               // groups x devices: microseconds, where known
  std::array<std::shared_ptr<const Placement>, 8> chosen_;  // the latest placements made with times_
  size_t placements_made_ = 0;                              // number of placements made
  std::vector<double> free_at_, ends_;                      // per device: when its queue is empty; per group of the
                                                            // request that begins: its end
  std::vector<int64_t> weights_;                            // per device: bytes
  ValueBytes value_bytes_;                                  // the values of the request that begins
  std::vector<std::vector<uint32_t>> calls_of_;             // per group
};

struct OpenRequest {
  std::shared_ptr<FleetState> fleet;
  RequestState run;

  explicit OpenRequest(std::shared_ptr<FleetState> state);
};

}  // namespace detail
}  // namespace gart::fleet
