// One caller's memory for running one entry point.
#pragma once

#include <memory>
#include <vector>

#include "runtime/bound_plan.h"
#include "runtime/io.h"
#include "runtime/program.h"
#include "runtime/step_log.h"

namespace gart::detail {

/// The index of the tensor of that name; the error lists what there is.
Result<size_t> find_tensor(std::span<const TensorInfo> infos, std::string_view name, const char* what);

struct InvocationState {
  ProgramState* program = nullptr;
  const Entry* entry = nullptr;
  std::shared_ptr<ProgramState> keep_alive;  // null for those that the program itself holds
  std::unique_ptr<DeviceSession> device;     // null: the CPU runs it
  Inputs inputs;
  Outputs outputs;
  Block arena, scratch;
  // Most recently used first. Bounded: a server that sees ever new lengths must not grow for ever.
  static constexpr size_t kMaxBoundPlans = 8;
  std::vector<std::unique_ptr<BoundPlan>> bound;
  std::vector<Shape> output_shapes;  // of the last run that succeeded, if one did
  StepLog log;
  bool has_run = false;
  bool undelivered = false;  // the last run was started, but nobody waited for it

  InvocationState(ProgramState& p, const Entry& e);
  ~InvocationState();
  /// Static plans are bound, and the arena allocated and touched, here.
  static Result<std::unique_ptr<InvocationState>> make(ProgramState& program, const Entry& entry);

  Result<void> run();
  Result<void> run_async(void* stream);
  Result<void> wait();
  /// As run(), into new tensors.
  Result<std::vector<Tensor>> run_owned();

 private:
  /// Makes bound[0] the plan for the inputs' shapes.
  Result<void> prepare();
  Result<void> add_bound(std::vector<Shape> shapes);
  Result<void> execute();
  Result<void> run_on_cpu();
  Result<void> start_on_device(void* stream, bool own_stream);
  Result<void> note_shapes();
};

}  // namespace gart::detail
