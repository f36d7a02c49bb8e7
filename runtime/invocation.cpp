#include "runtime/invocation.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "runtime/errors.h"
#include "runtime/executor.h"
#include "runtime/live_bytes.h"
#include "runtime/state_set.h"

namespace gart {
namespace detail {

InvocationState::InvocationState(ProgramState& p, const Entry& e)
    : program(&p),
      entry(&e),
      inputs(e.inputs, p.device().site),
      outputs(e.outputs, p.device().site, inputs),
      arena(p.device().site.memory),
      output_shapes(e.outputs.size()) {
  p.device().check_alive();
  lane = p.part->new_lane();
  for (size_t i = e.plans.size(); i-- > 0 && bound.size() < kMaxBoundPlans;) {
    std::vector<Shape> shapes = static_input_shapes(e, e.plans[i]);
    if (shapes.size() == e.inputs.size()) add_bound(shapes);
  }
  const BaseAddresses all = bases();
  if (e.states() > 0) return;  // the memory of states is not known yet
  for (const auto& plan : bound) lane->prepare({*plan, inputs, outputs, all});
}

/// The arena only grows, by at least a quarter, so that a growing sequence rarely moves it. Its contents are undefined
/// after a run.
void InvocationState::add_bound(std::span<const Shape> shapes) {
  lane->settle();
  if (bound.size() < kMaxBoundPlans) {
    bound.push_back(std::make_unique<BoundPlan>(*entry, program->artifact.weights().size(), program->device().site));
  }
  std::rotate(bound.begin(), bound.end() - 1, bound.end());
  try {
    BoundPlan& plan = *bound[0];
    plan.bind(shapes);
    const auto bytes = static_cast<size_t>(plan.arena_bytes());
    if (bytes > arena.capacity() || arena.data() == nullptr)
      arena.reserve(std::max(bytes, arena.capacity() + arena.capacity() / 4));
    lane->adopt(plan);
  } catch (...) {
    bound.erase(bound.begin());
    throw;
  }
}

BaseAddresses InvocationState::bases() const {
  BaseAddresses all = program->part->bases();
  all.arena = arena.data();
  return all;
}

void InvocationState::prepare() {
  if (cancelled.load(std::memory_order_relaxed)) fail(ErrorCode::cancelled, "the run was cancelled");
  inputs.check_complete(inputs.count());
  const auto found =
      std::find_if(bound.begin(), bound.end(), [&](const auto& plan) { return inputs.matches(plan->inputs()); });
  if (found == bound.end()) {
    inputs.get_shapes(shapes_);
    add_bound(shapes_);
  } else {
    std::rotate(bound.begin(), found, found + 1);
    bound[0]->forget_run_bound();
  }
  bound[0]->cancelled = &cancelled;
  log.count = 0;
  bound[0]->log = log.places.empty() ? nullptr : &log;
}

void InvocationState::start(const Queue& queue) {
  program->device().check_alive();
  const BaseAddresses all = bases();
  const Run run{*bound[0], inputs, outputs, all};
  try {
    lane->open(run, queue);
    inputs.stage();
    run.bound.link(all, inputs, outputs);
    Executor(run, *lane).run();
    lane->close();
  } catch (...) {
    lane->abandon();
    throw;
  }
  undelivered = true;
}

void InvocationState::note_shapes() {
  for (size_t i = 0; i < output_shapes.size(); ++i) output_shapes[i] = bound[0]->output_shape(i);
  has_run = true;
}

void InvocationState::execute() {
  start({});
  undelivered = false;
  lane->finish();
  note_shapes();
  outputs.deliver();
}

void InvocationState::fail_busy() {
  fail(ErrorCode::invalid_argument, "the invocation is running and cannot be used meanwhile");
}

template <class Body>
auto InvocationState::with_states(Body&& run_prepared) {
  if (entry->states() == 0) {
    prepare();
    return run_prepared();
  }
  StateTransaction states(session, *program->own_states, *entry);
  states.lend_inputs(inputs);
  prepare();
  states.lend_outputs(inputs, outputs, *bound[0]);
  if constexpr (std::is_void_v<decltype(run_prepared())>) {
    run_prepared();
    states.commit(*bound[0]);
  } else {
    auto result = run_prepared();
    states.commit(*bound[0]);
    return result;
  }
}

void InvocationState::run() {
  const RunGuard guard(*this);
  with_states([&] { execute(); });
}

void InvocationState::run_async(void* stream) {
  const RunGuard guard(*this);
  program->device().check_streams();
  if (session != nullptr || entry->states() > 0)
    fail(ErrorCode::unsupported, "an invocation with states runs with run(), not with run_async()");
  prepare();
  start({false, stream});
  note_shapes();
}

void InvocationState::wait() {
  const RunGuard guard(*this);
  program->device().check_alive();
  const bool deliver = std::exchange(undelivered, false);
  lane->finish();
  if (deliver) outputs.deliver();
}

std::vector<Tensor> InvocationState::run_owned() {
  const RunGuard guard(*this);
  return with_states([&] { return execute_owned(); });
}

std::vector<Tensor> InvocationState::execute_owned() {
  std::vector<Tensor> tensors(entry->own_outputs().size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!bound[0]->output_shape_known(i)) continue;
    tensors[i] =
        value_or_fail(Tensor::allocate(entry->outputs[i].dtype, bound[0]->output_shape(i), entry->outputs[i].name));
    outputs.set(i, {tensors[i].data(), tensors[i].bytes(), tensors[i].dtype(), "cpu"});
  }
  execute();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].data() != nullptr) continue;
    const TensorInfo& info = entry->outputs[i];
    tensors[i] = value_or_fail(Tensor::copy_of({outputs.result(i), info.dtype, output_shapes[i], "cpu"}, info.name));
  }
  return tensors;
}

namespace {

template <class T>
void set_in_order(InvocationState& invocation, const void* data, size_t provided) {
  const auto* inputs = static_cast<const T*>(data);
  const size_t count = invocation.entry->own_inputs().size();
  if (provided != count) fail(ErrorCode::invalid_argument, provided, " inputs were given, the model has ", count);
  for (size_t i = 0; i < count; ++i) invocation.inputs.set(i, inputs[i]);
}

void set_by_name(InvocationState& invocation, const void* data, size_t provided) {
  for (const NamedTensor& input : std::span(static_cast<const NamedTensor*>(data), provided)) {
    const size_t index = find_tensor(invocation.entry->own_inputs(), input.name, "input");
    if (invocation.inputs.is_set(index)) fail(ErrorCode::invalid_argument, "input '", input.name, "' is given twice");
    invocation.inputs.set(index, input.tensor);
  }
}

}  // namespace

AnyInputs::AnyInputs(const std::span<const TensorView>& inputs)
    : set_(set_in_order<TensorView>), data_(inputs.data()), count_(inputs.size()) {}
AnyInputs::AnyInputs(const std::span<const Tensor>& inputs)
    : set_(set_in_order<Tensor>), data_(inputs.data()), count_(inputs.size()) {}
AnyInputs::AnyInputs(const std::span<const NamedTensor>& inputs)
    : set_(set_by_name), data_(inputs.data()), count_(inputs.size()) {}

}  // namespace detail

namespace {

/// States follow the caller's inputs and outputs, and the caller does not see them.
void check_own(const char* what, size_t index, size_t count) {
  if (index >= count) fail(ErrorCode::invalid_argument, "there is no ", what, " ", index, ": the model has ", count);
}

}  // namespace

Invocation::Invocation(std::unique_ptr<detail::InvocationState> state) : state_(std::move(state)) {}
Invocation::Invocation(Invocation&&) noexcept = default;
Invocation& Invocation::operator=(Invocation&&) noexcept = default;
Invocation::~Invocation() {
  if (state_ == nullptr) return;
  // Both must outlive the objects that refer to them.
  const std::shared_ptr<detail::ProgramState> program = std::move(state_->keep_alive);
  const std::shared_ptr<detail::StateSet> session = std::move(state_->keep_session);
  state_.reset();
}

Result<void> Invocation::set_input(size_t index, const TensorView& tensor) {
  return guarded([&] {
    check_own("input", index, state_->entry->own_inputs().size());
    state_->idle().inputs.set(index, tensor);
  });
}

Result<void> Invocation::set_input(std::string_view name, const TensorView& tensor) {
  return guarded([&] { state_->idle().inputs.set(find_tensor(state_->entry->own_inputs(), name, "input"), tensor); });
}

Result<void> Invocation::set_output(size_t index, const OutputBuffer& buffer) {
  return guarded([&] {
    check_own("output", index, state_->entry->own_outputs().size());
    state_->idle().outputs.set(index, buffer);
  });
}

Result<void> Invocation::set_output(std::string_view name, const OutputBuffer& buffer) {
  return guarded(
      [&] { state_->idle().outputs.set(find_tensor(state_->entry->own_outputs(), name, "output"), buffer); });
}

void Invocation::record_steps(std::span<StepTime> times) { state_->log.places = times; }
size_t Invocation::recorded_steps() const { return state_->log.count; }

Result<void> Invocation::run() {
  return guarded([&] {
    const detail::RunPlace place(*state_->program);
    state_->run();
  });
}

Result<void> Invocation::run_async(void* stream) {
  return guarded([&] { state_->run_async(stream); });
}

Result<void> Invocation::wait() {
  return guarded([&] { state_->wait(); });
}

void Invocation::cancel() { state_->cancelled.store(true, std::memory_order_relaxed); }

TensorView Invocation::output(size_t index) const {
  if (index >= state_->entry->own_outputs().size() || !state_->has_run) return {};
  return {state_->outputs.result(index), state_->entry->outputs[index].dtype, state_->output_shapes[index],
          state_->outputs.result_device(index)};
}

TensorView Invocation::output(std::string_view name) const {
  const std::span<const TensorInfo> outputs = state_->entry->own_outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].name == name) return output(i);
  }
  return {};
}

MemoryInfo Invocation::memory() const {
  MemoryInfo info;
  info.weight_bytes = static_cast<int64_t>(state_->program->artifact.weights().size());
  const int32_t code = state_->program->target().code_section();
  if (code >= 0) info.code_bytes = static_cast<int64_t>(state_->program->artifact.section(size_t(code)).size());
  if (!state_->bound.empty()) {
    info.arena_bytes = state_->bound[0]->arena_bytes();
    const auto known = static_cast<int64_t>(state_->bound[0]->plan().manifest->arena_lower_bound());
    info.arena_lower_bound_bytes = known > 0 ? known : most_live_bytes(*state_->bound[0]);
  }
  return info;
}

}  // namespace gart
