#include "runtime/cuda/libraries/call_node.h"

#include <algorithm>
#include <utility>

#include "gart/tensor.h"

namespace gart::cuda {

bool CallNode::refresh(Libraries& libraries, const Plan& plan, const BoundPlan& bound, uint32_t index,
                       void* workspace) {
  const PlanStep& step = plan.steps[index];
  const BoundStep& now = bound.step(index);
  bool changed = std::exchange(workspace_, workspace) != workspace;
  if (plan_ == nullptr || !std::equal(numbers_.begin(), numbers_.end(), now.params)) {
    const CallProblem problem = make_call_problem(plan, bound, index);
    plan_ = libraries.plan(problem);
    libraries_ = &libraries;
    step_ = problem.step;
    numbers_.assign(now.params, now.params + step.params);
    changed = true;
  }
  data_.resize(step.operands);
  size_t number = 0;
  for (uint32_t i = 0; i < step.operands; ++i) {
    const fb::CallView& view = *step.manifest->call()->views()->Get(i);
    const int64_t bytes = now.params[number] * int64_t(size_of(static_cast<DType>(view.dtype())));
    void* data = static_cast<uint8_t*>(now.operands[i]) + bytes;
    changed |= std::exchange(data_[i], data) != data;
    number += 1 + 2 * size_t{view.rank()};
  }
  return changed;
}

ChildGraph CallNode::record(Device& device) const {
  return ChildGraph(device, libraries_->record(*plan_, data_, workspace_, step_));
}

}  // namespace gart::cuda
