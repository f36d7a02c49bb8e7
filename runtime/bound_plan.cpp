#include "runtime/bound_plan.h"

#include <algorithm>

#include "artifact_schema/call_layout.h"
#include "runtime/errors.h"

namespace gart {
namespace {

/// True if the result has no elements.
bool call_is_empty(const fb::Call& call, const int64_t* numbers) {
  const size_t result = call_result(call);
  for (size_t i = 0; i < result; ++i) numbers += call_params(call_rank(call, i));
  const int64_t* extents = numbers + 1;
  return std::find(extents, extents + call_rank(call, result), 0) != extents + call_rank(call, result);
}

constexpr uint8_t kAllThreads = 255;  // in Mode.stream_threads

[[noreturn]] void fail_model(const std::string& what) {
  fail(ErrorCode::run_failed, "with these shapes the model fails: ", what);
}

}  // namespace

void BoundPlan::bind(std::span<const Shape> inputs) {
  linked_.reset();
  bind_shapes(*entry_, inputs, entry_slots_);
  const Plan* chosen = choose_plan(*entry_, entry_slots_);
  if (chosen != plan_) {
    plan_ = chosen;
    graphs.reset();
    reach_.reset();
    run_bound_blocks_.clear();
  } else if (graphs != nullptr) {
    graphs->rebind();
  }
  inputs_.assign(inputs.begin(), inputs.end());
  evaluate_input_bound();
  check_callers_sizes();
  for (uint32_t i = 0; i < plan_->steps.size(); ++i) {
    if (!plan_->steps[i].run_bound) bind_step(i);
  }
}

void BoundPlan::evaluate_input_bound() {
  const Plan& plan = *plan_;
  slots_.clear(plan.symbols + plan.program.size());
  for (size_t i = 0; i < plan.symbols; ++i) {
    if (entry_->carried[i]) slots_.set(i, entry_slots_[i]);
  }
  if (Status status = evaluate(plan.program, plan.symbols, slots_); !status.ok()) fail_model(status.message);
  if (Status status = measure_buffers(*plan.manifest, slots_, weight_bytes_, extents_); !status.ok()) {
    fail_model(status.message);
  }
  arena_bytes_ = int64_t(plan.manifest->arena_bytes());
  if (count_of(plan.manifest->placement()) > 0) {
    Status status = place_temporaries(*plan.manifest, extents_, arena_bytes_, ranges_);
    if (!status.ok()) fail_model(status.message);
  }
  scratch_bytes_ = 0;
  addresses_.assign(extents_.size(), nullptr);
  operands_.assign(plan.operands.size(), nullptr);
  params_.assign(plan.params.size(), 0);
  steps_.assign(plan.steps.size(), {});
  while (!plan.run_bound_buffers.empty() && run_bound_blocks_.size() < extents_.size())
    run_bound_blocks_.emplace_back(memory_);
  for (uint32_t i = 0; i < plan.steps.size(); ++i) {
    steps_[i].operands = operands_.data() + plan.steps[i].first_operand;
    steps_[i].params = params_.data() + plan.steps[i].first_param;
  }
}

/// Checks that the sizes that kernels assume for inputs and outputs match the caller's shapes.
void BoundPlan::check_callers_sizes() const {
  for (const uint32_t index : plan_->io_buffers) {
    const fb::Buffer& buffer = plan_->buffer(index);
    if (buffer.alias_of() >= 0) continue;
    if (buffer.kind() == fb::BufferKind::output) {
      check_output_size(buffer.index(), extents_[index].bytes);
      continue;
    }
    const int64_t bytes = inputs_[buffer.index()].elements() * int64_t(size_of(entry_->inputs[buffer.index()].dtype));
    if (extents_[index].bytes == bytes) continue;
    fail(ErrorCode::invalid_artifact, "the plan reads ", extents_[index].bytes, " bytes of input '",
         entry_->inputs[buffer.index()].name, "', which has ", bytes);
  }
}

void BoundPlan::check_output_size(size_t index, int64_t bytes) const {
  if (!output_shape_known(index)) return;
  const Shape shape = output_shape(index);
  const int64_t elements = shape.elements();
  const TensorInfo& info = entry_->outputs[index];
  if (elements >= 0 && elements <= kMaxExtent && elements * int64_t(size_of(info.dtype)) == bytes) return;
  fail(ErrorCode::invalid_artifact, "the plan writes ", bytes, " bytes to output '", info.name, "' of shape ",
       shape.text());
}

bool BoundPlan::output_shape_known(size_t index) const {
  return gart::output_shape_known(*entry_, index, entry_slots_);
}
Shape BoundPlan::output_shape(size_t index) const { return gart::output_shape(*entry_, index, entry_slots_); }

bool BoundPlan::all_known(const PlanStep& step) const {
  bool known = !is_work(step.kind) || slots_.known[step.tasks_slot];
  if (step.kind == fb::StepKind::launch) known = known && slots_.known[step.scratch_slot];
  for (uint32_t i = 0; i < step.operands; ++i)
    known = known && addresses_[plan_->operands[step.first_operand + i]] != nullptr;
  for (uint32_t i = 0; i < step.params; ++i) known = known && slots_.known[plan_->params[step.first_param + i]];
  return known;
}

/// Computes task counts, parameters and sizes. Requires that their slots are known.
void BoundPlan::bind_step(uint32_t index) {
  const PlanStep& step = plan_->steps[index];
  BoundStep& bound = steps_[index];
  if (step.kind == fb::StepKind::launch || step.kind == fb::StepKind::fail || step.kind == fb::StepKind::call) {
    for (uint32_t i = 0; i < step.params; ++i)
      params_[step.first_param + i] = slots_[plan_->params[step.first_param + i]];
  }
  if (!is_work(step.kind)) return;
  bound.tasks = slots_[step.tasks_slot];
  if (bound.tasks < 0 || bound.tasks > kMaxExtent)
    fail_model(text("step ", index, " would have ", bound.tasks, " tasks"));
  const uint32_t* operands = plan_->operands.data() + step.first_operand;
  bound.off = step.off;
  if (step.kind != fb::StepKind::launch && step.kind != fb::StepKind::call) {
    bound.bytes = extents_[operands[0]].bytes;
    if (step.kind == fb::StepKind::copy && bound.bytes != extents_[operands[1]].bytes) {
      fail_model(text("step ", index, " copies ", extents_[operands[1]].bytes, " bytes into ", bound.bytes));
    }
    return;
  }
  const bool call = step.kind == fb::StepKind::call;
  if (call && call_is_empty(*step.manifest->call(), bound.params)) bound.tasks = 0;
  if (call && step.off) return;
  const int64_t scratch = call ? int64_t(step.manifest->call()->workspace()) : slots_[step.scratch_slot];
  if (scratch < 0 || scratch > kMaxExtent)
    fail_model(text("step ", index, " would need ", scratch, " bytes of scratch"));
  scratch_bytes_ = std::max(scratch_bytes_, scratch);
}

void BoundPlan::refuse_call(uint32_t index) {
  steps_[index].off = true;
  for (uint32_t i = index + 1; i < plan_->steps.size() && is_work(plan_->steps[i].kind); ++i) {
    if (plan_->steps[i].call == index) steps_[i].off = false;
  }
}

void BoundPlan::share(int threads, const Parallel& parallel) {
  const fb::Mode* mode = nullptr;
  for (uint32_t i = 0; i < count_of(plan_->manifest->modes()); ++i) {
    const fb::Mode* const next = plan_->manifest->modes()->Get(i);
    if (mode == nullptr || int64_t{next->threads()} <= threads) mode = next;
  }
  const uint32_t inter = parallel.inter > 0 ? uint32_t(parallel.inter) : mode != nullptr ? mode->inter() : 1;
  const bool alone = parallel.intra == 0 && mode != nullptr && mode->intra() == 1;
  const int most = alone ? 1 : parallel.intra > 0 ? std::min(parallel.intra, threads) : threads;
  shares_.resize(steps_.size());
  for (uint32_t i = 0; i < shares_.size(); ++i) {
    shares_[i] = {steps_[i].tasks, 0, uint16_t(most)};
    const auto streams = mode != nullptr && inter > 1 ? span_of(mode->stream_threads()) : std::span<const uint8_t>();
    const uint32_t stream = plan_->steps[i].manifest->stream();
    if (stream >= streams.size() || streams[stream] == kAllThreads) continue;
    shares_[i].first = uint16_t(streams[stream] % std::min(inter, uint32_t(threads)));
    shares_[i].most = 1;
  }
  waits_.clear();
  if (threads > 1) finder_.find(*plan_, extents_, shares_, waits_);
  for (size_t i = 0; i < steps_.size(); ++i) {
    steps_[i].barrier_before = threads > 1 && finder_.needed()[i] != 0;
    steps_[i].first = shares_[i].first;
    steps_[i].most = shares_[i].most;
  }
  for (uint32_t i = 0; i < waits_.size(); ++i) {
    BoundStep& step = steps_[waits_[i].step];
    if (step.waits++ == 0) step.first_wait = i;
    steps_[waits_[i].on].awaited = true;
  }
}

void BoundPlan::link(const BaseAddresses& bases, const Inputs& inputs, Outputs& outputs) {
  const bool moved = !(linked_ == bases);
  const auto point = [&](uint32_t index) {
    const uint32_t base = plan_->base_of(index);
    const fb::Buffer& buffer = plan_->buffer(base);
    uint8_t* address = nullptr;
    switch (buffer.kind()) {
      case fb::BufferKind::input:
        address = static_cast<uint8_t*>(inputs.address(buffer.index()));
        break;
      case fb::BufferKind::output:
        address = static_cast<uint8_t*>(outputs.address(buffer.index()));
        break;
      case fb::BufferKind::constant:
        address = const_cast<uint8_t*>(bases.weights) + extents_[base].offset;
        break;
      case fb::BufferKind::temporary:
        address = bases.arena + extents_[base].offset;
        break;
      case fb::BufferKind::packed:
        address = bases.packed + extents_[base].offset;
        break;
    }
    addresses_[index] = address + (base == index ? 0 : extents_[index].offset);
  };
  outputs.begin();
  for (const uint32_t index : plan_->io_buffers) {
    const fb::Buffer& buffer = plan_->buffer(index);
    if (buffer.kind() != fb::BufferKind::output || buffer.alias_of() >= 0) continue;
    outputs.place(buffer.index(), extents_[index].bytes);
  }
  if (!moved) {
    for (const uint32_t index : plan_->io_buffers) point(index);
    for (const uint32_t i : plan_->io_operands) operands_[i] = addresses_[plan_->operands[i]];
    return;
  }
  for (uint32_t i = 0; i < addresses_.size(); ++i) {
    if (plan_->input_bound_buffer[i]) point(i);
  }
  for (size_t i = 0; i < operands_.size(); ++i) operands_[i] = addresses_[plan_->operands[i]];
  linked_ = bases;
}

void BoundPlan::forget_run_bound() {
  slots_.known = plan_->input_bound_slot;
  entry_slots_.known = entry_->input_bound_slot;
  for (const uint32_t index : plan_->run_bound_buffers) addresses_[index] = nullptr, extents_[index] = {};
}

void BoundPlan::place_run_bound_buffer(uint32_t index, Outputs& outputs) {
  const fb::Buffer& buffer = plan_->buffer(index);
  Status status = measure_buffer(*plan_->manifest, index, true, slots_, weight_bytes_, extents_);
  if (!status.ok()) fail_model(status.message);
  const BufferExtent& extent = extents_[index];
  if (extent.bytes < 0) return;
  if (buffer.alias_of() >= 0) {
    auto* base = static_cast<uint8_t*>(addresses_[buffer.alias_of()]);
    if (base != nullptr && extent.offset >= 0) addresses_[index] = base + extent.offset;
    return;
  }
  if (buffer.kind() == fb::BufferKind::output) {
    check_output_size(buffer.index(), extent.bytes);
    addresses_[index] = outputs.place(buffer.index(), extent.bytes);
    return;
  }
  run_bound_blocks_[index].reserve(static_cast<size_t>(extent.bytes));
  addresses_[index] = run_bound_blocks_[index].data();
}

void BoundPlan::bind_symbol(uint32_t symbol, int64_t value, Outputs& outputs) {
  if (value < 0 || value > kMaxExtent) {
    fail(ErrorCode::run_failed, "the extent '", entry_->symbols[symbol], "' would be ", value);
  }
  if (!reach_) reach_ = std::make_unique<Reach[]>(plan_->symbols);
  Reach& reach = reach_[symbol];
  if (reach.parts.empty()) reach = reach_of(*plan_, symbol);
  slots_.set(symbol, value);
  entry_slots_.set(symbol, value);
  Status status = evaluate(plan_->program, plan_->symbols, slots_, reach.instructions());
  if (status.ok()) status = evaluate(entry_->program, entry_->symbols.size(), entry_slots_);
  if (!status.ok()) fail(ErrorCode::run_failed, "with '", entry_->symbols[symbol], "' = ", value, ": ", status.message);
  for (const uint32_t index : reach.buffers()) place_run_bound_buffer(index, outputs);
  check_callers_sizes();  // checks outputs whose size was known earlier than their shape
  for (const uint32_t index : reach.steps()) {
    const PlanStep& step = plan_->steps[index];
    if (!all_known(step)) continue;
    for (uint32_t i = 0; i < step.operands; ++i) {
      operands_[step.first_operand + i] = addresses_[plan_->operands[step.first_operand + i]];
    }
    bind_step(index);
  }
}

}  // namespace gart
