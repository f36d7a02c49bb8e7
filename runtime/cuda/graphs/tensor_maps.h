// The tensor maps of a launch, as the driver encodes them for the addresses and extents of the moment.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "artifact_schema/map_form.h"
#include "runtime/bound_plan.h"
#include "runtime/cuda/driver/device.h"

namespace gart::cuda {

class TensorMaps {
 public:
  /// Adds their places to the pointers to a kernel's parameters.
  void add_to(std::vector<void*>& pointers, const PlanStep& step);
  /// Brings them up to date; true if one changed. Throws Failure, naming step `index`, where TMA would not take a
  /// tensor.
  bool refresh(Device& device, const Plan& plan, const BoundPlan& bound, uint32_t index);

 private:
  struct Encoded {
    CUtensorMap map = {};
    const void* data = nullptr;
    int64_t numbers[2 * kMaxMapRank] = {};  // as in the step's params
  };
  std::unique_ptr<Encoded[]> maps_;  // as many as the step has
};

}  // namespace gart::cuda
