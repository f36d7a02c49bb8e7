// The tensor maps of a launch, encoded by the driver for the current addresses and extents.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "artifact_schema/map_layout.h"
#include "runtime/bound_plan.h"
#include "runtime/cuda/driver/device.h"

namespace gart::cuda {

class TensorMaps {
 public:
  /// Appends the maps' addresses to the pointers to a kernel's parameters.
  void add_to(std::vector<void*>& pointers, const PlanStep& step);
  /// Updates the maps; true if one changed. Throws Failure, naming step `index`, if TMA does not support a tensor.
  bool refresh(Device& device, const Plan& plan, const BoundPlan& bound, uint32_t index);

 private:
  struct Encoded {
    CUtensorMap map = {};
    const void* data = nullptr;
    int64_t numbers[2 * kMaxMapRank] = {};  // the numbers from the step's params
  };
  std::unique_ptr<Encoded[]> maps_;  // one per map of the step
};

}  // namespace gart::cuda
