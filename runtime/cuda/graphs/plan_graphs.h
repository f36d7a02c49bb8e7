// The graphs of a bound plan on a GPU, and the errors that its kernels report.
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

  /// The plan as one graph; null if the host must decide, or the driver rejected the graph.
  ConditionalGraph* conditional() const { return conditional_.get(); }
  void give_up_conditional() { conditional_.reset(); }

  SegmentGraph& segment(const Segment& segment);
  uint32_t* const* statuses() const { return status_of_.data(); }
  /// Fails if a step reported an error, and clears the report. Requires that no run of the plan is in progress.
  void check_statuses(const BoundPlan& bound);

 private:
  /// The buffer's bytes in `copy`; null if later steps may have overwritten them.
  const void* host_copy(const BoundPlan& bound, uint32_t buffer, std::vector<uint8_t>& copy) const;

  Device& device_;
  const Plan& plan_;
  std::unique_ptr<ConditionalGraph> conditional_;
  // Indexed by first step; the last entry is for runs without steps.
  std::vector<std::unique_ptr<SegmentGraph>> segments_;
  Block words_;                       // status words: one per step that may fail, and one that all other steps share
  std::vector<uint32_t*> status_of_;  // per step
  std::vector<uint32_t> may_fail_;    // the steps that may fail
};

}  // namespace gart::cuda
