// One run of a bound plan on a GPU: graphs for the steps that only the device works on, and between them what the host
// does: steps that the CPU runs, branches, loops, symbols that a result gives their values.
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

  /// Builds the graphs that do not depend on symbols bound during the run.
  void prepare();
  /// Enqueues all of it. Throws Failure for what the driver refuses.
  Result<void> run();

 private:
  /// All of the plan as one graph, up to date; null: the host has to decide.
  SteeredGraph* steered_graph();
  /// Calls at(segment) for each run of steps of a sequence that are enqueued together, host(begin, end) for each run that
  /// the CPU works on, and control(step) for each step between.
  template <class OnSegment, class OnHost, class OnControl>
  Result<void> walk(uint32_t sequence, OnSegment at, OnHost host, OnControl control);
  GraphContext graph_context() const;
  Result<void> sequence(uint32_t index);
  Result<void> enqueue(const Segment& segment);
  Result<void> enqueue_timed(SegmentGraph& graph, uint32_t step);
  Result<void> run_on_host(uint32_t begin, uint32_t end);
  Result<void> control(uint32_t step);
  SegmentGraph& updated_graph(const Segment& segment);
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
