// A plan bound to shapes: every size, address and task count that a run needs. It is made once per set of input shapes
// and invocation, then reused. Values that a bind step gives during the run are refreshed in place.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "artifact_schema/buffer_plan.h"
#include "runtime/barriers.h"
#include "runtime/entry.h"
#include "runtime/io.h"
#include "runtime/memory.h"
#include "runtime/plan.h"

namespace gart {

struct StepLog;

struct BoundStep {
  int64_t tasks = 0;
  int64_t bytes = 0;   // copy, fill
  uint16_t first = 0;  // the threads that work on the step: one per task, at most `most`
  uint16_t most = 1;
  bool awaited = false;                // True if another step waits for this step
  bool off = false;                    // see PlanStep.off
  bool barrier_before = true;          // within a segment, all threads wait for each other before this step
  uint32_t first_wait = 0, waits = 0;  // without a barrier: the waits of its thread, BoundPlan::waits(step)
  void* const* operands = nullptr;
  const int64_t* params = nullptr;
};

/// The memory of a plan's buffers.
struct BaseAddresses {
  const uint8_t* weights = nullptr;
  uint8_t* arena = nullptr;
  uint8_t* packed = nullptr;
  bool operator==(const BaseAddresses&) const = default;
};

/// State that a lane keeps for a bound plan: a GPU's executable graphs.
class DeviceGraphs {
 public:
  virtual ~DeviceGraphs() = default;
  /// The graphs now serve another bound plan of the same plan, so the next run must check all addresses.
  virtual void rebind() = 0;
};

class BoundPlan {
 public:
  /// bind() must be called next. `site`: the site of the device.
  BoundPlan(const Entry& entry, uint64_t weight_bytes, const Site& site)
      : entry_(&entry), memory_(site.memory), weight_bytes_(weight_bytes) {}
  /// Binds the plan to these shapes. If it was bound before, reuses the memory. Fails if the shapes contradict the
  /// model, or sizes overflow; then the plan cannot be used until it is bound again.
  void bind(std::span<const Shape> inputs);

  const Entry& entry() const { return *entry_; }
  const Plan& plan() const { return *plan_; }
  std::span<const Shape> inputs() const { return inputs_; }
  int64_t arena_bytes() const { return arena_bytes_; }
  /// The largest scratch of a step: per thread of a CPU, per stream of a GPU. May grow during a run.
  int64_t scratch_bytes() const { return scratch_bytes_; }
  const BoundStep& step(uint32_t index) const { return steps_[index]; }
  void* address(uint32_t buffer) const { return addresses_[buffer]; }
  int64_t bytes(uint32_t buffer) const { return extents_[buffer].bytes; }
  /// The slot's value. Requires that it is known.
  int64_t slot(uint32_t index) const { return slots_[index]; }

  /// Points all input-bound buffers to `bases` and the caller's memory. Cheap if only the caller's memory has moved
  /// since the last call.
  void link(const BaseAddresses& bases, const Inputs& inputs, Outputs& outputs);

  /// Called when a run begins: no symbol is bound yet.
  void forget_run_bound();
  /// Sets a symbol's value, then computes all sizes and addresses that have become known.
  void bind_symbol(uint32_t symbol, int64_t value, Outputs& outputs);
  /// nullopt as long as the shape depends on an unbound symbol.
  Shape output_shape(size_t index) const;
  bool output_shape_known(size_t index) const;

  /// Called if a library does not support the call for these shapes: the call's fallbacks run instead.
  void refuse_call(uint32_t step);
  /// Divides the steps of a CPU among a team of `threads` threads, and finds the waits between them.
  void share(int threads, const Parallel& parallel);
  std::span<const Wait> waits(const BoundStep& step) const {
    return std::span(waits_).subspan(step.first_wait, step.waits);
  }
  const std::atomic<bool>* cancelled = nullptr;  // set by the caller; null: the run cannot be cancelled
  bool is_cancelled() const { return cancelled != nullptr && cancelled->load(std::memory_order_relaxed); }
  StepLog* log = nullptr;  // the log of the current run; null: no log is wanted

  std::unique_ptr<DeviceGraphs> graphs;  // belongs to the device, which makes it in the first run

 private:
  void evaluate_input_bound();
  void check_callers_sizes() const;
  void check_output_size(size_t index, int64_t bytes) const;
  void bind_step(uint32_t index);
  void place_run_bound_buffer(uint32_t index, Outputs& outputs);
  bool all_known(const PlanStep& step) const;

  const Entry* entry_;
  MemorySource* memory_;
  const Plan* plan_ = nullptr;
  std::vector<Shape> inputs_;
  Slots entry_slots_, slots_;
  std::vector<BufferExtent> extents_;
  uint64_t weight_bytes_;
  int64_t arena_bytes_ = 0, scratch_bytes_ = 0;
  std::vector<void*> addresses_;  // per buffer
  std::vector<void*> operands_;   // parallel to plan.operands
  std::vector<int64_t> params_;   // parallel to plan.params
  std::vector<BoundStep> steps_;  // parallel to plan.steps
  std::vector<Wait> waits_;
  std::vector<Block> run_bound_blocks_;  // per buffer; empty if no buffer is run-bound
  // Per symbol; made at its first bind, because a loop may bind it in every iteration.
  std::unique_ptr<Reach[]> reach_;
  std::optional<BaseAddresses> linked_;
  // Memory that bind() and share() reuse.
  std::vector<PlacedRange> ranges_;
  std::vector<Share> shares_;
  BarrierFinder finder_;
};

}  // namespace gart
