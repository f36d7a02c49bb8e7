#include "compiler/bind_libraries.h"

#include <algorithm>

#include "compiler/kernel/machine.h"
#include "compiler/library_remarks.h"
#include "compiler/ops/op_def.h"
#include "compiler/schedule/rounded_constant.h"

namespace gcg {
namespace {

template <class See>
void for_each_launch(Schedule& schedule, const See& see) {
  for (Sequence& sequence : schedule.sequences)
    for (Step& step : sequence.steps)
      if (step.kind == Step::Kind::launch && !step.on_host) see(step);
}

/// The constant that the library reads in another form, before it is rounded; null: it has no such form.
TensorRef source_of(const Buffer& buffer, const LibraryTensor& t) {
  TensorRef source = buffer.constant;
  if (source && source->rearrangement() && source->rearrangement()->op == &op("Cast")) source = source->rearrangement()->source;
  if (t.untransposed) {
    if (!source || !source->rearrangement() || source->rearrangement()->op != &op("Transpose")) return nullptr;
    source = source->rearrangement()->source;
    if (to_shape(source->shape()) != t.extents) return nullptr;
  }
  if (!source) return nullptr;
  return source->dtype() == DType::f32 || source->dtype() == t.dtype ? source : nullptr;
}

bool is_rounding(const Tensor& t, const TensorRef& source, DType to) {
  return t.dtype() == to && t.rearrangement() && t.rearrangement()->op == &op("Cast") && t.rearrangement()->source == source;
}

/// A buffer for its elements in that type, one per tensor.
BufferId buffer_of(Schedule& schedule, const TensorRef& source, DType type, const std::string& name) {
  const bool rounds = source->dtype() != type;
  for (size_t i = 0; i < schedule.buffers.size(); ++i) {
    const TensorRef& known = schedule.buffers[i].constant;
    if (rounds ? known && is_rounding(*known, source, type) : known == source) return BufferId(static_cast<int>(i));
  }
  const TensorRef tensor = rounds ? rounded_constant(source, type) : source;
  schedule.buffers.push_back({Buffer::Kind::constant, 0, Dim(tensor->bytes()), tensor, name});
  return BufferId(static_cast<int>(schedule.buffers.size()) - 1);
}

/// Every step of the kernel has constants where the library wants what they were made from.
bool has_sources(Schedule& schedule, int kernel, const LibraryCall& call) {
  bool has = true;
  for_each_launch(schedule, [&](const Step& step) {
    if (step.kernel.index != kernel) return;
    for (const LibraryTensor& t : call.tensors) {
      const BufferId b = step.operands[static_cast<size_t>(t.operand)];
      has = has && (!t.is_other_form() || source_of(schedule.buffers[static_cast<size_t>(b.index)], t));
    }
  });
  return has;
}

/// Libraries read their operands in any order, also behind their first writes: only the operand that they may overwrite as
/// they go, a matrix product's addend, can share memory with the result.
bool may_overwrite(const LibraryCall& call, size_t tensor) {
  return call.operation == LibraryOperation::matmul && call.addend && tensor + 1 == call.tensors.size();
}

bool shares_memory(const Schedule& schedule, int kernel, const LibraryCall& call) {
  const size_t result = call.result();
  const auto block = [&](const Step& step, const LibraryTensor& t) {
    return schedule.buffers[static_cast<size_t>(step.operands[static_cast<size_t>(t.operand)].index)].block;
  };
  for (const Sequence& sequence : schedule.sequences)
    for (const Step& step : sequence.steps) {
      if (step.kind != Step::Kind::launch || step.on_host || step.kernel.index != kernel) continue;
      const int written = block(step, call.tensors[result]);
      for (size_t i = 0; i < call.tensors.size(); ++i) {
        if (i != result && !may_overwrite(call, i) && written >= 0 && block(step, call.tensors[i]) == written) return true;
      }
    }
  return false;
}

void collect_sources(ShapePlan& plan, int kernel, const LibraryCall& call) {
  for_each_launch(plan.schedule, [&](const Step& step) {
    if (step.kernel.index != kernel) return;
    for (const LibraryTensor& t : call.tensors) {
      if (!t.is_other_form()) continue;
      const BufferId b = step.operands[static_cast<size_t>(t.operand)];
      const Buffer& made = plan.schedule.buffers[static_cast<size_t>(b.index)];
      const TensorRef source = source_of(made, t);
      const std::string name = made.name;
      plan.other_forms[b.index] = buffer_of(plan.schedule, source, t.dtype, name);
    }
  });
}

/// Constants that only bound kernels would read are none of the plan's.
void drop_unread(ShapePlan& plan) {
  std::map<int, bool> read;
  for (const auto& [buffer, form] : plan.other_forms) read[buffer] = false;
  for_each_launch(plan.schedule, [&](const Step& step) {
    const auto& call = plan.calls[static_cast<size_t>(step.kernel.index)];
    for (size_t o = 0; o < step.operands.size(); ++o) {
      const bool from_source = call && std::any_of(call->tensors.begin(), call->tensors.end(), [&](const LibraryTensor& t) {
        return t.is_other_form() && t.operand == static_cast<int>(o);
      });
      if (const auto it = read.find(step.operands[o].index); it != read.end() && !from_source) it->second = true;
    }
  });
  for (const auto& [buffer, is_read] : read) {
    if (is_read) continue;
    Buffer& dead = plan.schedule.buffers[static_cast<size_t>(buffer)];
    dead.kind = Buffer::Kind::temporary;  // of no block: it has no place
    dead.constant = nullptr;
  }
}

}  // namespace

bool is_spared_libraries(const Target& target) { return machine_of(target).shares_memory; }

bool binds_libraries(const std::vector<Target>& targets, const Target& device, const CompileOptions& options) {
  if (device.device != DeviceClass::cuda || !options.libraries) return false;
  return !options.stand_ins || std::any_of(targets.begin(), targets.end(), [](const Target& t) {
    return t.device == DeviceClass::cuda && !is_spared_libraries(t);
  });
}

const LibraryCall* call_of(const ShapePlan& plan, const Target& target, const Step& step) {
  if (step.kind != Step::Kind::launch || step.on_host || (plan.stand_ins && is_spared_libraries(target))) return nullptr;
  const LibraryCall* call = plan.call(static_cast<size_t>(step.kernel.index));
  return call != nullptr && target.sm >= call->least_sm ? call : nullptr;
}

void keep_operands(Schedule& schedule, const LibraryBinder& binder) {
  for_each_launch(schedule, [&](Step& step) {
    if (step.in_place.empty()) return;
    const auto call = binder.bind(schedule.kernels[static_cast<size_t>(step.kernel.index)]);
    if (!call) return;
    const int overwritten = may_overwrite(*call, call->tensors.size() - 1) ? call->tensors.back().operand : -1;
    std::erase_if(step.in_place, [&](int operand) { return operand != overwritten; });
  });
}

std::vector<std::string> bind_libraries(ShapePlan& plan, const std::vector<Target>& targets, const LibraryBinder& binder,
                                        bool stand_ins) {
  const auto kernels = static_cast<int>(plan.schedule.kernels.size());
  std::vector<CallOutcome> outcomes(plan.schedule.kernels.size());
  plan.calls.resize(plan.schedule.kernels.size());
  plan.stand_ins = stand_ins;
  for (int k = 0; k < kernels; ++k) {
    auto call = binder.bind(plan.schedule.kernels[static_cast<size_t>(k)]);
    if (!call) continue;
    const auto too_old = std::find_if(targets.begin(), targets.end(), [&](const Target& t) {
      return t.device == DeviceClass::cuda && t.sm < call->least_sm;
    });
    CallOutcome& outcome = outcomes[static_cast<size_t>(k)];
    outcome = {call->library, call->least_sm, too_old == targets.end() ? "" : too_old->name, false};
    if (!outcome.too_old.empty() && !stand_ins) continue;
    if (!has_sources(plan.schedule, k, *call) || shares_memory(plan.schedule, k, *call)) continue;
    collect_sources(plan, k, *call);
    outcome.bound = true;
    plan.calls[static_cast<size_t>(k)] = std::move(call);
  }
  if (stand_ins) return {};
  drop_unread(plan);
  return library_remarks(plan.schedule, binder, outcomes);
}

}  // namespace gcg
