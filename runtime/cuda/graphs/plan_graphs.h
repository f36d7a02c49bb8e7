// The graphs of a bound plan on a GPU, and what its kernels report.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/graphs/conditional_graph.h"

namespace gart::cuda {

class PlanGraphs final : public DeviceGraphs {
 public:
  /// `conditional_kernel`: the kernel that decides branches and loops on the device, or null.
  PlanGraphs(Device& device, const Plan& plan, CUfunction conditional_kernel);
  void rebind() override;

  /// The plan as one graph; null where the host has to decide, or the driver refused the graph.
  ConditionalGraph* conditional() const { return conditional_.get(); }
  void give_up_conditional() { conditional_.reset(); }

  SegmentGraph& segment(const Segment& segment);
  uint32_t* const* statuses() const { return status_of_.data(); }
  /// Fails if a step reported something, and forgets it. Only while no run of the plan is under way.
  void check_statuses(const BoundPlan& bound);

 private:
  /// The buffer's bytes in `copy`; null where later steps may have written over them.
  const void* host_copy(const BoundPlan& bound, uint32_t buffer, std::vector<uint8_t>& copy) const;

  Device& device_;
  const Plan& plan_;
  std::unique_ptr<ConditionalGraph> conditional_;
  std::vector<std::unique_ptr<SegmentGraph>> segments_;  // by the first step; the last is for none
  Block words_;                                          // one per step that may fail, and one for all that cannot
  std::vector<uint32_t*> status_of_;                     // per step
  std::vector<uint32_t> may_fail_;                       // steps
};

}  // namespace gart::cuda
