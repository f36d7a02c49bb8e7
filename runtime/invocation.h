// One caller's memory for running one entry point.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/bound_plan.h"
#include "runtime/io.h"
#include "runtime/program.h"
#include "runtime/step_log.h"

namespace gart::detail {

/// The index of the tensor of that name; the error lists what there is.
size_t find_tensor(std::span<const TensorInfo> infos, std::string_view name, const char* what);

struct InvocationState {
  ProgramState* program;
  const Entry* entry;
  std::shared_ptr<ProgramState> keep_alive;  // null for those that the program itself holds
  Inputs inputs;
  Outputs outputs;
  Block arena;
  // Most recently used first. Bounded: a server that sees ever new lengths must not grow for ever.
  static constexpr size_t kMaxBoundPlans = 8;
  std::vector<std::unique_ptr<BoundPlan>> bound;
  std::vector<Shape> output_shapes;  // of the last run that succeeded, if one did
  StepLog log;
  std::atomic<bool> cancelled = false;  // the run under way is to end
  bool has_run = false;
  bool undelivered = false;    // the last run was started, but nobody waited for it
  std::unique_ptr<Lane> lane;  // ends first, and waits for what is under way

  /// Static plans are bound, and what they need is made ready, here. Throws Failure, as everything here does.
  InvocationState(ProgramState& program, const Entry& entry);

  void run();
  void run_async(void* stream);
  void wait();
  /// As run(), into new tensors.
  std::vector<Tensor> run_owned();

 private:
  /// Makes bound[0] the plan for the inputs' shapes.
  void prepare();
  void add_bound(std::vector<Shape> shapes);
  BaseAddresses bases() const;
  void start(const Queue& queue);
  /// Of a run.
  class Turn {
   public:
    explicit Turn(bool& under_way);
    ~Turn() { under_way_ = false; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    bool& under_way_;
  };
  bool under_way_ = false;

  void execute();
  void note_shapes();
};

}  // namespace gart::detail
