// A call step with all its numbers known, and the plan that a library makes for it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/bound_plan.h"
#include "runtime/cuda/driver/driver_api.h"

namespace gart::cuda {

/// Strides and offset in elements.
struct CallTensor {
  fb::DType dtype;
  int64_t offset;
  std::vector<int64_t> extents, strides;

  /// The alignment of element 0's address, which is `offset` elements after a multiple of 64 bytes.
  uint32_t alignment() const;
};

struct CallProblem {
  const fb::Call* call;
  std::string step;  // "step 'MatMul_3'"
  std::vector<CallTensor> tensors;

  const CallTensor* bias() const { return call->bias() ? &tensors[result() + 1] : nullptr; }
  const CallTensor* addend() const { return call->addend() ? &tensors.back() : nullptr; }
  size_t result() const;
  /// The numbers of the call's algorithm, if it was measured on GPUs of this kind with this version of the library.
  std::span<const int64_t> algorithm(int sm, uint64_t version) const;
  /// Two problems have equal keys if a library solves them in the same way.
  std::vector<int64_t> key() const;
};

/// Throws Failure if the extents contradict each other, or a tensor exceeds its buffer.
CallProblem make_call_problem(const Plan& plan, const BoundPlan& bound, uint32_t step);

/// A library's way to run a call for certain shapes.
class CallPlan {
 public:
  virtual ~CallPlan() = default;
  /// Returns the work on these tensors as a graph that the caller destroys. `data` points to the first element of each
  /// tensor. Must not be called by two threads at a time. Throws Failure naming library, call and `step`.
  virtual CUgraph record(const std::vector<void*>& data, void* workspace, const std::string& step) = 0;
};

}  // namespace gart::cuda
