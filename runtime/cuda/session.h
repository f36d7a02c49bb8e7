// One invocation on one GPU: its stream and workspace, and its graphs per bound plan.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/cuda/graph.h"
#include "runtime/cuda/program.h"
#include "runtime/cuda/steered_graph.h"

namespace gart::cuda {

/// The graphs of a bound plan, and what its kernels report.
class PlanGraphs final : public DeviceGraphs {
 public:
  /// `steering`: the kernel that decides branches and loops on the device, or null.
  PlanGraphs(Device& device, const Plan& plan, CUfunction steering);
  void rebind() override;

  /// The plan as one graph; null where the host has to decide, or the driver refused the graph.
  SteeredGraph* steered() const { return steered_.get(); }
  void give_up_steering() { steered_.reset(); }

  SegmentGraph& segment(const Segment& segment);
  uint32_t* const* statuses() const { return status_of_.data(); }
  /// Fails if a step reported something, and forgets it. Only while no run of the plan is under way.
  Result<void> check_statuses(const BoundPlan& bound);

 private:
  Device& device_;
  const Plan& plan_;
  std::unique_ptr<SteeredGraph> steered_;
  std::vector<std::unique_ptr<SegmentGraph>> segments_;  // by the first step; the last is for none
  Block words_;                                          // one per step that may fail, and one for all that cannot
  std::vector<uint32_t*> status_of_;                     // per step
  std::vector<uint32_t> may_fail_;                       // steps
};

class Session final : public DeviceSession {
 public:
  explicit Session(Program& program);
  ~Session() override { drain(); }

  const Site& site() const override { return site_; }
  void settle() override;
  void drain() noexcept override;
  Result<void> prepare(BoundPlan& plan, Inputs& inputs, Outputs& outputs, Block& arena) override;
  Result<void> start(BoundPlan& plan, Inputs& inputs, Outputs& outputs, Block& arena, void* stream,
                     bool own_stream) override;
  Result<void> finish() override;

 private:
  friend class Execution;
  PlanGraphs& graphs_of(BoundPlan& plan, Inputs& inputs, Outputs& outputs);
  /// Points the plan to its memory.
  Result<void> link(BoundPlan& plan, Inputs& inputs, Outputs& outputs, Block& arena);
  void order_behind_last_run(CUstream stream, bool needs_staging);
  /// Waits for what a run that failed has enqueued on the caller's stream: that may be gone by the next one.
  void abandon() noexcept;
  /// Waits for everything enqueued; the error names the steps enqueued since the last time.
  void synchronize();
  /// The CPU's turn: launches of the plan, which nothing is enqueued beside.
  Result<void> run_on_host(BoundPlan& plan, Outputs& outputs, uint32_t begin, uint32_t end);
  void note_enqueued(const Plan& plan, uint32_t begin, uint32_t end);
  void forget_enqueued() { enqueued_plan_ = nullptr; }
  std::string enqueued_text() const;

  Program& program_;
  Device& device_;
  Site site_;
  Stream stream_;
  Event done_;
  Block workspace_;
  Block word_;               // pinned: a value that control flow needs
  Block host_arena_;         // pinned: temporaries of the CPU's steps
  Block host_scratch_;
  const void* arena_ = nullptr;  // as of the last run
  uint64_t generation_ = 1;      // counts the moves of arena and workspace

  bool running_ = false;          // a run may be under way,
  bool recorded_ = false;         // and done_ says when it ends; otherwise the stream does
  CUstream running_on_ = nullptr;
  BoundPlan* running_plan_ = nullptr;
  std::optional<Error> failed_;  // a run that nobody waited for: whoever waits next is told
  const Plan* enqueued_plan_ = nullptr;  // steps that nobody has waited for yet; null: none
  uint32_t enqueued_begin_ = 0, enqueued_end_ = 0;
};

}  // namespace gart::cuda
