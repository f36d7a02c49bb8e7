#include "compiler/plan/bind_libraries.h"

#include <algorithm>

#include "compiler/kernel/device_traits.h"
#include "compiler/kernel/library_algorithm.h"
#include "compiler/ops/op_def.h"
#include "compiler/plan/drop_unused.h"
#include "compiler/plan/rounded_constant.h"

namespace gcg {
namespace {

/// The constant from which this one was rearranged or rounded, if the library reads it in another layout or type.
/// Otherwise null.
TensorRef source_of(const Buffer& buffer, const LibraryTensor& t) {
  TensorRef source = buffer.constant;
  if (source && source->rearrangement() && source->rearrangement()->op == &op("Cast"))
    source = source->rearrangement()->source;
  if (t.untransposed) {
    if (!source || !source->rearrangement() || source->rearrangement()->op != &op("Transpose")) return nullptr;
    source = source->rearrangement()->source;
    if (to_shape(source->shape()) != t.extents) return nullptr;
  }
  if (!source) return nullptr;
  return source->dtype() == DType::f32 || source->dtype() == t.dtype ? source : nullptr;
}

bool is_rounding(const Tensor& t, const TensorRef& source, DType to) {
  return t.dtype() == to && t.rearrangement() && t.rearrangement()->op == &op("Cast") &&
         t.rearrangement()->source == source;
}

BufferId operand(const Launch& launch, const LibraryTensor& t) {
  return launch.operands[static_cast<size_t>(t.operand)];
}

/// Libraries read their operands in any order, also after their first writes. Only the operand that they may overwrite,
/// the addend of a matrix product, can share memory with the result.
std::vector<int> overwritten(const LibraryCall& call) {
  if (call.operation != LibraryOperation::matmul || !call.addend) return {};
  return {static_cast<int>(call.tensors.size()) - 1};
}

}  // namespace

bool is_spared_libraries(const Target& target) { return machine_of(target).shares_memory; }

LibraryCalls::LibraryCalls(const Plan& plan, const std::vector<Target>& targets, const LibraryOptions& options)
    : options_(options), calls_(plan.kernels.size()), outcomes_(plan.kernels.size()) {
  for (KernelId k : plan.kernels.ids()) {
    auto call = options.binder->bind(plan.kernels[k]);
    if (!call) continue;
    const auto too_old = std::find_if(targets.begin(), targets.end(), [&](const Target& t) {
      return traits_of(t.device).has_libraries && t.sm < call->least_sm;
    });
    outcomes_[k] = {call->library, call->least_sm, too_old == targets.end() ? "" : too_old->name, false};
    if (!outcomes_[k].too_old.empty() && !options.fallbacks) continue;
    if (!has_sources(plan, k, *call)) continue;
    outcomes_[k].bound = true;
    calls_[k] = std::move(call);
  }
}

bool LibraryCalls::has_sources(const Plan& plan, KernelId kernel, const LibraryCall& call) const {
  for (const Sequence& sequence : plan.sequences)
    for (const Step& step : sequence.steps) {
      const auto* launch = step.as<Launch>();
      if (launch == nullptr || launch->kernel != kernel) continue;
      for (const LibraryTensor& t : call.tensors)
        if (t.is_other_form() && !source_of(plan.buffers[operand(*launch, t)], t)) return false;
    }
  return true;
}

BufferId LibraryCalls::form_of(Plan& plan, const TensorRef& source, DType type, const std::string& name) {
  const bool rounds = source->dtype() != type;
  for (BufferId b : plan.buffers.ids()) {
    const TensorRef& known = plan.buffers[b].constant;
    if (rounds ? known && is_rounding(*known, source, type) : known == source) return b;
  }
  TensorRef tensor = source;
  if (rounds) {
    TensorRef& copy = rounded_[{source.get(), type}];
    if (!copy) copy = rounded_constant(source, type);
    tensor = copy;
  }
  return plan.buffers.push_back({Buffer::Kind::constant, 0, Dim(tensor->bytes()), tensor, name});
}

Call LibraryCalls::bound(Plan& plan, const Launch& launch, const LibraryCall& call, const Target& target) {
  Call out{call, {}, {}, measured_algorithm(call, target), {}};
  for (const LibraryTensor& t : call.tensors) {
    const BufferId b = operand(launch, t);
    const std::string name = plan.buffers[b].name;
    out.operands.push_back(t.is_other_form() ? form_of(plan, source_of(plan.buffers[b], t), t.dtype, name) : b);
  }
  for (int i : overwritten(call))
    if (const int o = call.tensors[static_cast<size_t>(i)].operand;
        std::count(launch.in_place.begin(), launch.in_place.end(), o) != 0)
      out.in_place.push_back(i);
  if (options_.fallbacks) out.fallback = {launch};
  return out;
}

void LibraryCalls::bind(Plan& plan, const Target& target) {
  if (options_.fallbacks && is_spared_libraries(target)) return;
  for (Sequence& sequence : plan.sequences)
    for (Step& step : sequence.steps) {
      const auto* launch = step.as<Launch>();
      if (launch == nullptr) continue;
      const auto& call = calls_[launch->kernel];
      if (call && target.sm >= call->least_sm) step.work = bound(plan, *launch, *call, target);
    }
  drop_unused(plan);
}

}  // namespace gcg
