// A model loaded on its devices: lanes, and which group runs on which.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "artifact_schema/reader.h"
#include "gart/fleet.hpp"
#include "runtime/fleet/assembly.h"
#include "runtime/fleet/request.h"
#include "runtime/memory.h"

namespace gart::fleet {

/// Makes the engine of a device, with the parts that it is to run, or adds parts to one that is there. Throws Failure.
class Engines {
 public:
  virtual ~Engines() = default;
  virtual std::unique_ptr<Engine> open(uint32_t device, std::span<const uint32_t> parts) = 0;
  virtual void add(Engine& engine, std::span<const uint32_t> parts) = 0;
  virtual DeviceInfo describe(const Engine& engine) const = 0;
};

namespace detail {

struct FleetState {
  /// Opens the devices that groups are placed on. `requests`: that may be under way at once.
  FleetState(Assembly model, std::unique_ptr<Engines> device_engines, std::vector<uint32_t> places, int requests,
             bool monitored = true);
  ~FleetState();

  /// Of requests that begin now. Groups of lost devices are placed anew; fails if there is no place.
  std::shared_ptr<const Placement> placement();
  std::shared_ptr<const Route> route(const std::vector<uint32_t>& wanted);
  DeviceInfo device(uint32_t index);

  const Assembly assembly;
  std::vector<TensorInfo> inputs, outputs, values;
  Gate gate;
  Monitor monitor;

 private:
  std::vector<uint32_t> parts_on(uint32_t device) const;
  void open(uint32_t device);
  void publish();
  void place_anew(uint32_t group, const Error& loss);
  double load_of(uint32_t device, uint32_t with) const;
  bool has_room(uint32_t device, uint32_t with) const;

  const std::unique_ptr<Engines> engines_;
  std::mutex mutex_;                          // of all below
  std::vector<uint32_t> places_;              // per group: its device
  std::vector<std::unique_ptr<Lane>> lanes_;  // per device; null: not opened
  std::shared_ptr<const Placement> placement_;
  std::map<std::vector<uint32_t>, std::shared_ptr<const Route>> routes_;
};

struct OpenRequest {
  std::shared_ptr<FleetState> fleet;
  RequestState run;

  explicit OpenRequest(std::shared_ptr<FleetState> state);
};

}  // namespace detail
}  // namespace gart::fleet
