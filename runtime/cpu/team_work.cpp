#include "runtime/cpu/team_work.h"

#include <algorithm>
#include <cstring>

#include "artifact_schema/container.h"
#include "artifact_schema/kernel_abi.h"
#include "runtime/errors.h"
#include "runtime/step_errors.h"
#include "runtime/step_log.h"

namespace gart::cpu {
namespace {

/// Part `index` of `parts` equal parts of [0, total).
int64_t part_begin(int64_t total, int index, int parts) {
  return total / parts * index + std::min<int64_t>(total % parts, index);
}

}  // namespace

TeamWork::TeamWork(BoundPlan& bound, uint32_t device, Block& scratch, ThreadTeam* team, const void* const* imports)
    : bound_(bound), plan_(bound.plan()), team_(team), imports_(imports) {
  const int threads = team == nullptr ? 1 : team->size();
  scratch_stride_ = static_cast<int64_t>(align_up(static_cast<uint64_t>(bound.scratch_bytes(device)), kAlignment));
  scratch.reserve(static_cast<size_t>(scratch_stride_) * static_cast<size_t>(threads));
  scratch_ = scratch.data();
}

void TeamWork::run(uint32_t begin, uint32_t end) {
  begin_ = begin;
  end_ = end;
  bool parallel = false;
  for (uint32_t i = begin; i < end && team_ != nullptr; ++i) parallel = parallel || bound_.step(i).tasks > 1;
  if (!parallel) {
    walk(0, 1);
  } else {
    team_->run(&TeamWork::walk_job, this);
  }
  const uint64_t failed = failed_.load(std::memory_order_relaxed);
  if (failed != kNone) throw Failure{kernel_error(*plan_.steps[failed >> 32].manifest, static_cast<uint32_t>(failed))};
}

void TeamWork::walk_job(void* data, int thread) {
  TeamWork& work = *static_cast<TeamWork*>(data);
  work.walk(thread, work.team_->size());
}

void TeamWork::walk(int thread, int threads) {
  for (uint32_t i = begin_; i < end_; ++i) {
    const BoundStep& bound = bound_.step(i);
    if (threads > 1 && i > begin_ && bound.barrier_before) team_->barrier();
    if (failed_.load(std::memory_order_relaxed) != kNone) continue;
    if (bound.tasks > 1) {
      const int64_t first = part_begin(bound.tasks, thread, threads),
                    last = part_begin(bound.tasks, thread + 1, threads);
      if (first < last) work(plan_.steps[i], i, thread, first, last);
    } else if (thread == 0 && bound.tasks == 1) {
      work(plan_.steps[i], i, 0, 0, 1);
    }
  }
}

void TeamWork::work(const PlanStep& step, uint32_t index, int thread, int64_t begin, int64_t end) {
  StepLog* const log = bound_.log;
  if (log == nullptr) return do_work(step, index, thread, begin, end);
  const int64_t began = StepLog::now();
  do_work(step, index, thread, begin, end);
  log->note({index, static_cast<uint32_t>(thread), began, StepLog::now()});
}

void TeamWork::do_work(const PlanStep& step, uint32_t index, int thread, int64_t begin, int64_t end) {
  if (step.kind == fb::StepKind::launch) return launch(step, index, thread, begin, end);
  const BoundStep& bound = bound_.step(index);
  const int64_t chunk = int64_t(align_up((uint64_t(bound.bytes) + bound.tasks - 1) / bound.tasks, kAlignment));
  int64_t from = std::min(bound.bytes, begin * chunk), to = std::min(bound.bytes, end * chunk);
  auto* destination = static_cast<uint8_t*>(bound.operands[0]);
  if (step.kind == fb::StepKind::fill) {
    std::memset(destination + from, step.value, static_cast<size_t>(to - from));
    return;
  }
  const auto* source = static_cast<const uint8_t*>(bound.operands[1]);
  const bool overlap = destination < source + bound.bytes && source < destination + bound.bytes;
  if (overlap && begin > 0) return;  // whoever has the first task moves it all
  if (overlap) from = 0, to = bound.bytes;
  std::memmove(destination + from, source + from, static_cast<size_t>(to - from));
}

void TeamWork::launch(const PlanStep& step, uint32_t index, int thread, int64_t begin, int64_t end) {
  const BoundStep& bound = bound_.step(index);
  const gart_kernel_args args = {bound.operands, bound.params, scratch_ + thread * scratch_stride_, imports_};
  const int32_t code = reinterpret_cast<gart_kernel>(const_cast<void*>(step.function))(&args, begin, end);
  if (code == GART_KERNEL_OK) return;
  const uint64_t failure = uint64_t(index) << 32 | uint32_t(code);
  uint64_t seen = failed_.load(std::memory_order_relaxed);
  while (failure < seen && !failed_.compare_exchange_weak(seen, failure, std::memory_order_relaxed)) {
  }
}

}  // namespace gart::cpu
