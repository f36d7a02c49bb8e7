// State of a call step's graph node: the library's plan, and the addresses in its last recording.
#pragma once

#include "runtime/cuda/libraries/libraries.h"

namespace gart::cuda {

/// The graph of one recording; a node takes a copy of it.
class ChildGraph {
 public:
  ChildGraph(Device& device, CUgraph graph) : handle(graph), device_(device) {}
  ~ChildGraph() {
    if (handle != nullptr) device_.driver.cuGraphDestroy(handle);
  }
  ChildGraph(const ChildGraph&) = delete;
  ChildGraph& operator=(const ChildGraph&) = delete;
  const CUgraph handle;

 private:
  Device& device_;
};

class CallNode {
 public:
  /// Updates the state; true if the work must be recorded again. Throws Failure.
  bool refresh(Libraries& libraries, const Plan& plan, const BoundPlan& bound, uint32_t step, void* workspace);
  ChildGraph record(Device& device) const;

 private:
  Libraries* libraries_ = nullptr;
  std::shared_ptr<CallPlan> plan_;
  std::string step_;
  std::vector<int64_t> numbers_;
  std::vector<void*> data_;
  void* workspace_ = nullptr;
};

}  // namespace gart::cuda
