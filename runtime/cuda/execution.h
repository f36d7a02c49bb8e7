// One run of a bound plan on a GPU: graphs for the steps that only the device works on, and between them what the host
// steers: branches, loops, symbols that a result gives their values.
#pragma once

#include "runtime/cuda/session.h"

namespace gart::cuda {

struct ExecutionContext {
  Session& session;
  BoundPlan& bound;
  PlanGraphs& graphs;
  Inputs& inputs;
  Outputs& outputs;
  CUstream stream;
};

class Execution {
 public:
  explicit Execution(const ExecutionContext& context)
      : c_(context), device_(context.session.device_), plan_(context.bound.plan()) {}

  /// Enqueues all of it. Throws Failure for what the driver refuses.
  Result<void> run();

 private:
  /// All of the plan as one graph; false: the driver refused it.
  bool launch_steered(SteeredGraph& graph);
  GraphContext graph_context() const;
  Result<void> sequence(uint32_t index);
  Result<void> control(uint32_t step);
  void segment(uint32_t sequence, uint32_t begin, uint32_t end, bool inputs, bool outputs);
  Result<void> branch(const PlanStep& step);
  Result<void> loop(const PlanStep& step);
  void write_iteration(int32_t buffer, int64_t value);
  Result<void> carry(const fb::Loop& loop);
  Result<void> bind(const PlanStep& step);
  Result<void> fail_step(const PlanStep& step, uint32_t index);
  int64_t workspace_stride() const;
  void reserve_workspace();
  /// Waits for the work so far, and fails if a kernel of it did.
  Result<void> wait();
  /// The value in a buffer: from the host where it has it, otherwise read back after all work before it.
  template <class T>
  Result<T> scalar(int32_t buffer);
  const void* host_copy(uint32_t buffer) const;
  Result<void> check_size(int32_t buffer, int64_t bytes) const;

  ExecutionContext c_;
  Device& device_;
  const Plan& plan_;
};

}  // namespace gart::cuda
