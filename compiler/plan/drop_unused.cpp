#include "compiler/plan/drop_unused.h"

#include <utility>

namespace gcg {
namespace {

/// Visits every id that a step holds, by reference.
template <class OfBuffer, class OfLaunch>
void each_id(Launch& launch, const OfBuffer& buffer, const OfLaunch& see) {
  for (BufferId& b : launch.operands) buffer(b);
  see(launch);
}

template <class OfBuffer, class OfLaunch>
void each_id(Call& call, const OfBuffer& buffer, const OfLaunch& see) {
  for (BufferId& b : call.operands) buffer(b);
  for (Launch& l : call.fallback) each_id(l, buffer, see);
}

template <class OfBuffer, class OfLaunch>
void each_id(Loop& loop, const OfBuffer& buffer, const OfLaunch&) {
  for (BufferId* b : {&loop.trip_count, &loop.condition, &loop.iteration})
    if (b->valid()) buffer(*b);
  for (Loop::Carried& c : loop.carried) {
    buffer(c.from);
    buffer(c.to);
  }
}

template <class OfBuffer, class OfLaunch>
void each_id(Copy& copy, const OfBuffer& buffer, const OfLaunch&) {
  buffer(copy.to);
  buffer(copy.from);
}

template <class OfBuffer, class OfLaunch>
void each_id(Branch& branch, const OfBuffer& buffer, const OfLaunch&) {
  buffer(branch.condition);
}
template <class OfBuffer, class OfLaunch>
void each_id(Bind& bind, const OfBuffer& buffer, const OfLaunch&) {
  buffer(bind.value);
}
template <class OfBuffer, class OfLaunch>
void each_id(Fail&, const OfBuffer&, const OfLaunch&) {}

template <class OfBuffer, class OfLaunch>
void each_id(Plan& plan, const OfBuffer& buffer, const OfLaunch& launch) {
  for (Sequence& sequence : plan.sequences)
    for (Step& step : sequence.steps) std::visit([&](auto& work) { each_id(work, buffer, launch); }, step.work);
}

/// Keeps the elements that `used` marks. Returns the new number of each.
template <class Id, class T>
IndexedVector<Id, Id> keep(IndexedVector<Id, T>& all, const IndexedVector<Id, bool>& used) {
  IndexedVector<Id, Id> number(all.size());
  IndexedVector<Id, T> kept;
  for (Id id : all.ids())
    if (used[id]) number[id] = kept.push_back(std::move(all[id]));
  all = std::move(kept);
  return number;
}

}  // namespace

void drop_unused(Plan& plan) {
  IndexedVector<BufferId, bool> buffer_used(plan.buffers.size());
  IndexedVector<KernelId, bool> kernel_used(plan.kernels.size());
  for (BufferId b : plan.buffers.ids())
    buffer_used[b] = plan.buffers[b].kind != Buffer::Kind::temporary && plan.buffers[b].kind != Buffer::Kind::constant;
  each_id(plan, [&](BufferId b) { buffer_used[b] = true; }, [&](const Launch& l) { kernel_used[l.kernel] = true; });
  const auto buffer = keep(plan.buffers, buffer_used);
  const auto kernel = keep(plan.kernels, kernel_used);
  each_id(plan, [&](BufferId& b) { b = buffer[b]; }, [&](Launch& l) { l.kernel = kernel[l.kernel]; });
}

}  // namespace gcg
