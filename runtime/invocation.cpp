#include "runtime/invocation.h"

#include <algorithm>
#include <utility>

#include "runtime/cpu/execution.h"
#include "runtime/errors.h"

namespace gart {
namespace detail {

Result<size_t> find_tensor(std::span<const TensorInfo> infos, std::string_view name, const char* what) {
  std::string names;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].name == name) return i;
    names += text(i == 0 ? "" : ", ", "'", infos[i].name, "'");
  }
  return error(ErrorCode::invalid_argument, "the model has no ", what, " '", name, "', only ",
               names.empty() ? "none" : names);
}

InvocationState::InvocationState(ProgramState& p, const Entry& e)
    : program(&p),
      entry(&e),
      device(p.device == nullptr ? nullptr : p.device->new_session()),
      inputs(e.inputs, device == nullptr ? Site{} : device->site()),
      outputs(e.outputs, device == nullptr ? Site{} : device->site()),
      arena(device == nullptr ? nullptr : device->site().memory) {
  if (device != nullptr || p.artifact.format_minor < kElementAlignedMinor) return;
  inputs.use_in_place(kElementAlignment);
  outputs.use_in_place(kElementAlignment);
}

InvocationState::~InvocationState() {
  if (device != nullptr) device->drain();
}

Result<std::unique_ptr<InvocationState>> InvocationState::make(ProgramState& program, const Entry& entry) {
  if (program.device != nullptr) GART_TRY(program.device->check_alive());
  auto state = std::make_unique<InvocationState>(program, entry);
  state->output_shapes.resize(entry.outputs.size());
  for (size_t i = entry.plans.size(); i-- > 0 && state->bound.size() < kMaxBoundPlans;) {
    std::vector<Shape> shapes = static_input_shapes(entry, entry.plans[i]);
    if (shapes.size() != entry.inputs.size()) continue;
    if (Result<void> added = state->add_bound(std::move(shapes)); !added) return added.error();
  }
  if (program.device == nullptr && !state->bound.empty()) state->arena.touch();
  if (program.device == nullptr) return state;
  for (const auto& plan : state->bound) {
    GART_TRY(state->device->prepare(*plan, state->inputs, state->outputs, state->arena));
  }
  return state;
}

/// The arena only grows; its contents do not outlive a run.
Result<void> InvocationState::add_bound(std::vector<Shape> shapes) {
  Result<std::unique_ptr<BoundPlan>> plan =
      BoundPlan::make(*entry, std::move(shapes), program->artifact.weights().size(), inputs.site());
  if (!plan) return plan.error();
  if (device != nullptr) device->settle();
  arena.reserve(static_cast<size_t>((*plan)->arena_bytes()));
  if (bound.size() >= kMaxBoundPlans) {
    if (&bound.back()->plan() == &(*plan)->plan() && bound.back()->graphs != nullptr) {
      (*plan)->graphs = std::move(bound.back()->graphs);
      (*plan)->graphs->rebind();
    }
    bound.pop_back();
  }
  bound.insert(bound.begin(), std::move(*plan));
  return {};
}

Result<void> InvocationState::prepare() {
  GART_TRY(inputs.check_complete());
  const auto found =
      std::find_if(bound.begin(), bound.end(), [&](const auto& plan) { return inputs.matches(plan->inputs()); });
  if (found == bound.end()) {
    GART_TRY(add_bound(inputs.shapes()));
  } else {
    std::rotate(bound.begin(), found, found + 1);
    bound[0]->forget_late();
  }
  log.count = 0;
  bound[0]->log = log.places.empty() ? nullptr : &log;
  return {};
}

Result<void> InvocationState::run_on_cpu() {
  BoundPlan& plan = *bound[0];
  inputs.stage();
  GART_TRY(plan.link({program->artifact.weights().data(), arena.data()}, inputs, outputs));
  const TeamLease team(program->team.get());
  return Execution({plan, outputs, scratch, team.get(), program->imports.data()}).run();
}

Result<void> InvocationState::start_on_device(void* stream, bool own_stream) {
  GART_TRY(program->device->check_alive());
  GART_TRY(device->start(*bound[0], inputs, outputs, arena, stream, own_stream));
  undelivered = true;
  return {};
}

Result<void> InvocationState::note_shapes() {
  for (size_t i = 0; i < output_shapes.size(); ++i) {
    Result<Shape> shape = bound[0]->output_shape(i);
    if (!shape) return shape.error();
    output_shapes[i] = *shape;
  }
  has_run = true;
  return {};
}

Result<void> InvocationState::execute() {
  if (device == nullptr) {
    GART_TRY(run_on_cpu());
  } else {
    GART_TRY(start_on_device(nullptr, true));
    undelivered = false;
    GART_TRY(device->finish());
  }
  GART_TRY(note_shapes());
  outputs.deliver();
  return {};
}

Result<void> InvocationState::run() {
  GART_TRY(prepare());
  return execute();
}

Result<void> InvocationState::run_async(void* stream) {
  if (device == nullptr) {
    return error(ErrorCode::unsupported, "run_async needs a program on a CUDA device, this one runs on 'cpu'");
  }
  GART_TRY(prepare());
  GART_TRY(start_on_device(stream, false));
  return note_shapes();
}

Result<void> InvocationState::wait() {
  if (device == nullptr) return {};
  GART_TRY(program->device->check_alive());
  const bool deliver = std::exchange(undelivered, false);
  GART_TRY(device->finish());
  if (deliver) outputs.deliver();
  return {};
}

Result<std::vector<Tensor>> InvocationState::run_owned() {
  GART_TRY(prepare());
  std::vector<Tensor> tensors(entry->outputs.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!bound[0]->output_shape_known(i)) continue;
    Result<Shape> shape = bound[0]->output_shape(i);
    if (!shape) return shape.error();
    Result<Tensor> tensor = Tensor::allocate(entry->outputs[i].dtype, *shape, entry->outputs[i].name);
    if (!tensor) return tensor.error();
    tensors[i] = std::move(*tensor);
    GART_TRY(outputs.set(i, {tensors[i].data(), tensors[i].bytes(), tensors[i].dtype(), "cpu"}));
  }
  GART_TRY(execute());
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].data() != nullptr) continue;
    const TensorInfo& info = entry->outputs[i];
    Result<Tensor> tensor = Tensor::copy_of({outputs.result(i), info.dtype, output_shapes[i], "cpu"}, info.name);
    if (!tensor) return tensor.error();
    tensors[i] = std::move(*tensor);
  }
  return tensors;
}

}  // namespace detail

Invocation::Invocation(std::unique_ptr<detail::InvocationState> state) : state_(std::move(state)) {}
Invocation::Invocation(Invocation&&) noexcept = default;
Invocation& Invocation::operator=(Invocation&&) noexcept = default;
Invocation::~Invocation() {
  if (state_ == nullptr) return;
  const std::shared_ptr<detail::ProgramState> program = std::move(state_->keep_alive);  // outlives what points into it
  state_.reset();
}

Result<void> Invocation::set_input(size_t index, const TensorView& tensor) {
  return guarded([&] { return state_->inputs.set(index, tensor); });
}

Result<void> Invocation::set_input(std::string_view name, const TensorView& tensor) {
  return guarded([&]() -> Result<void> {
    Result<size_t> index = detail::find_tensor(state_->entry->inputs, name, "input");
    if (!index) return index.error();
    return state_->inputs.set(*index, tensor);
  });
}

Result<void> Invocation::set_output(size_t index, const OutputBuffer& buffer) {
  return guarded([&] { return state_->outputs.set(index, buffer); });
}

Result<void> Invocation::set_output(std::string_view name, const OutputBuffer& buffer) {
  return guarded([&]() -> Result<void> {
    Result<size_t> index = detail::find_tensor(state_->entry->outputs, name, "output");
    if (!index) return index.error();
    return state_->outputs.set(*index, buffer);
  });
}

void Invocation::record_steps(std::span<StepTime> times) { state_->log.places = times; }
size_t Invocation::recorded_steps() const { return state_->log.count; }

Result<void> Invocation::run() {
  return guarded([&] { return state_->run(); });
}

Result<void> Invocation::run_async(void* stream) {
  return guarded([&] { return state_->run_async(stream); });
}

Result<void> Invocation::wait() {
  return guarded([&] { return state_->wait(); });
}

TensorView Invocation::output(size_t index) const {
  if (index >= state_->output_shapes.size() || !state_->has_run) return {};
  return {state_->outputs.result(index), state_->entry->outputs[index].dtype, state_->output_shapes[index],
          state_->outputs.result_device(index)};
}

TensorView Invocation::output(std::string_view name) const {
  for (size_t i = 0; i < state_->entry->outputs.size(); ++i) {
    if (state_->entry->outputs[i].name == name) return output(i);
  }
  return {};
}

MemoryInfo Invocation::memory() const {
  MemoryInfo info;
  info.weight_bytes = static_cast<int64_t>(state_->program->artifact.weights().size());
  const int32_t code = state_->program->target->code_section();
  if (code >= 0) info.code_bytes = static_cast<int64_t>(state_->program->artifact.section(size_t(code)).size());
  if (!state_->bound.empty()) {
    info.arena_bytes = state_->bound[0]->arena_bytes();
    info.arena_lower_bound_bytes = static_cast<int64_t>(state_->bound[0]->plan().manifest->arena_lower_bound());
  }
  return info;
}

}  // namespace gart
