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

struct StateSet;
struct InvocationState;

/// The inputs of one call in any of the forms that the API takes.
class AnyInputs {
 public:
  explicit AnyInputs(const std::span<const TensorView>& in_order);
  explicit AnyInputs(const std::span<const Tensor>& in_order);
  explicit AnyInputs(const std::span<const NamedTensor>& by_name);
  void set(InvocationState& invocation) const { set_(invocation, data_, count_); }

 private:
  void (*set_)(InvocationState& invocation, const void* data, size_t count);
  const void* data_;
  size_t count_;
};

struct InvocationState {
  ProgramState* program;
  const Entry* entry;
  std::shared_ptr<ProgramState> keep_alive;  // null for invocations that belong to the program or to a session
  StateSet* session = nullptr;               // supplies the memory of states of a session
  std::shared_ptr<StateSet> keep_session;
  Inputs inputs;
  Outputs outputs;
  Block arena;
  // The most recently used plan comes first. The number of plans is limited, because a server keeps getting inputs of
  // new lengths.
  static constexpr size_t kMaxBoundPlans = 8;
  std::vector<std::unique_ptr<BoundPlan>> bound;
  std::vector<Shape> output_shapes;  // shapes of the last run that succeeded, if one did
  StepLog log;
  std::atomic<bool> cancelled = false;  // set by cancel(): the current run, or else the next one, ends early
  bool has_run = false;
  bool undelivered = false;    // True if the last run was started, but not waited for
  std::unique_ptr<Lane> lane;  // destroyed first, because it waits for running work

  /// Binds static plans and prepares their resources. All functions throw Failure.
  InvocationState(ProgramState& program, const Entry& entry);

  void run();
  void run_async(void* stream);
  void wait();
  /// The same as run(), but into new tensors.
  std::vector<Tensor> run_owned();
  /// Returns this invocation, so that the caller can change inputs or outputs. Fails during a run.
  InvocationState& idle() {
    if (under_way_) fail_busy();
    return *this;
  }

 private:
  /// Makes bound[0] the plan for the inputs' shapes.
  void prepare();
  void add_bound(std::span<const Shape> shapes);
  BaseAddresses bases() const;
  void start(const Queue& queue);
  [[noreturn]] static void fail_busy();
  /// Guards against a second use of the invocation during a run, by its custom operator or by another thread. The end
  /// of a run clears cancel().
  class RunGuard {
   public:
    explicit RunGuard(InvocationState& state) : state_(state) {
      if (state.under_way_.exchange(true)) fail_busy();
    }
    ~RunGuard() {
      state_.cancelled = false;
      state_.under_way_ = false;
    }
    RunGuard(const RunGuard&) = delete;
    RunGuard& operator=(const RunGuard&) = delete;

   private:
    InvocationState& state_;
  };
  std::atomic<bool> under_way_ = false;
  std::vector<Shape> shapes_;  // shapes of the inputs, while they are bound

  void execute();
  std::vector<Tensor> execute_owned();
  void note_shapes();
  /// Prepares and executes `run_prepared` with the entry's states, and commits them if it succeeds.
  template <class Body>
  auto with_states(Body&& run_prepared);
};

}  // namespace gart::detail
