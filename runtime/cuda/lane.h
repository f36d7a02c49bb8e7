// An invocation's work on one GPU: its stream and workspace, and its graphs per bound plan.
#pragma once

#include <optional>

#include "runtime/cuda/graphs/plan_graphs.h"
#include "runtime/cuda/program.h"

namespace gart::cuda {

class Lane final : public gart::Lane {
 public:
  explicit Lane(Program& program);
  ~Lane() override { drain(); }

  void adopt(BoundPlan& plan) override;
  void prepare(const Run& run) override;
  void settle() override;
  void open(const Run& run, const Queue& queue) override;
  bool start(const Run& run) override;
  void close() override;
  void abandon() noexcept override;
  void finish() override;
  void enqueue(const Run& run, const Segment& segment) override;
  void read(const Run& run, uint32_t buffer, void* to, size_t bytes) override;
  void fill(const Run& run, void* to, uint32_t word) override;
  void copy(const Run& run, void* to, const void* from, size_t bytes) override;
  void wait(const Run& run) override;

 private:
  static PlanGraphs& graphs_of(const BoundPlan& plan) { return static_cast<PlanGraphs&>(*plan.graphs); }
  /// Waits for running work; ignores its errors.
  void drain() noexcept;
  /// Records that memory in graphs may have moved since the last run.
  void note_places(const Run& run);
  GraphContext graph_context(const Run& run);
  /// The whole plan as one updated graph; null: the host must decide.
  ConditionalGraph* conditional_graph(const Run& run);
  SegmentGraph& updated_graph(const Run& run, const Segment& segment);
  void enqueue_one(const Run& run, const Segment& segment);
  void launch_timed(const Run& run, SegmentGraph& graph, uint32_t step);
  /// The data of a buffer in host memory. Null unless the buffer is a constant, or an input that is copied from host
  /// memory.
  const void* host_copy(const Run& run, uint32_t buffer) const;
  /// Waits for all enqueued work; the error names the steps enqueued since the last call.
  void synchronize();
  void note_enqueued(const Plan& plan, uint32_t begin, uint32_t end);
  std::string enqueued_text() const;

  Program& program_;
  Device& device_;
  Stream stream_;
  Event done_;
  Block workspace_;
  Block word_;                             // pinned: a value that control flow reads
  BaseAddresses bases_;                    // the addresses at the last run
  uint64_t generation_ = 1;                // counts the changes of these addresses and of the workspace
  std::optional<CurrentContext> current_;  // set while a run is open

  bool own_stream_ = true;          // True if the open run uses the lane's own stream
  CUstream next_stream_ = nullptr;  // the stream that the open run uses
  bool running_ = false;            // True if a run may be in progress
  bool recorded_ = false;           // True if done_ marks the end of that run; otherwise wait for the stream
  CUstream running_on_ = nullptr;
  const BoundPlan* running_plan_ = nullptr;
  std::optional<Error> failed_;          // the error of a run that nobody waited for; the next wait reports it
  const Plan* enqueued_plan_ = nullptr;  // the plan with steps that nobody has waited for yet; null: none
  uint32_t enqueued_begin_ = 0, enqueued_end_ = 0;
};

}  // namespace gart::cuda
