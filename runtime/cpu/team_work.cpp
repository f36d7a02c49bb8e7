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

TeamWork::TeamWork(BoundPlan& bound, Block& scratch, ThreadTeam* team, Program& program)
    : bound_(bound),
      plan_(bound.plan()),
      team_(team),
      pool_threads_(program.pool().threads()),
      imports_(program.imports()) {
  const int threads = team == nullptr ? 1 : team->size();
  scratch_stride_ = static_cast<int64_t>(align_up(static_cast<uint64_t>(bound.scratch_bytes()), kAlignment));
  scratch.reserve(static_cast<size_t>(scratch_stride_) * static_cast<size_t>(threads));
  scratch_ = scratch.data();
}

void TeamWork::run(uint32_t begin, uint32_t end) {
  begin_ = begin;
  end_ = end;
  bool together = false;
  for (uint32_t i = begin; i < end && team_ != nullptr; ++i) {
    const BoundStep& step = bound_.step(i);
    together = together || (step.tasks > 1 && step.most > 1) || step.first != 0;
  }
  if (together) {
    team_->run(&TeamWork::walk_job, this, begin, end);
  } else {
    walk_alone();
  }
  const uint64_t failed = failed_.load(std::memory_order_relaxed);
  if (failed != kNone) {
    const auto data = [this](uint32_t buffer) { return bound_.address(buffer); };
    throw Failure{kernel_error(bound_, uint32_t(failed >> 32), static_cast<uint32_t>(failed), data)};
  }
}

uint32_t TeamWork::walk_job(void* data, int share, uint32_t begin) {
  return static_cast<TeamWork*>(data)->walk(share, begin);
}

/// If the result is false for one share, it is also false for every share that waited for that share.
bool TeamWork::goes_on() const { return failed_.load(std::memory_order_relaxed) == kNone && !bound_.is_cancelled(); }

void TeamWork::walk_alone() {
  for (uint32_t i = begin_; i < end_ && goes_on(); ++i) {
    if (const int64_t tasks = bound_.step(i).tasks; tasks > 0) work(plan_.steps[i], i, 0, 0, tasks);
  }
}

/// The member of the team that does the work which the plan gives to thread `thread` of the pool.
int TeamWork::member(uint32_t thread) const {
  return static_cast<int>(int64_t{thread} * team_->size() / pool_threads_);
}

/// Does a share of the section that begins at step `i`; returns the step at which the section ends.
uint32_t TeamWork::walk(int share, uint32_t i) {
  do {
    const BoundStep& step = bound_.step(i);
    const int parts = static_cast<int>(std::min<int64_t>(step.tasks, std::min<int>(step.most, team_->size())));
    const int part = share - member(step.first);
    if (part < 0 || part >= parts) continue;
    for (const Wait& wait : bound_.waits(step)) team_->await(member(wait.thread), wait.on);
    if (goes_on()) {
      work(plan_.steps[i], i, share, part_begin(step.tasks, part, parts), part_begin(step.tasks, part + 1, parts));
    }
    if (step.awaited) team_->signal(share, i);
  } while (++i < end_ && !bound_.step(i).barrier_before);
  return i;
}

void TeamWork::work(const PlanStep& step, uint32_t index, int share, int64_t begin, int64_t end) {
  StepLog* const log = bound_.log;
  if (log == nullptr) return do_work(step, index, share, begin, end);
  const int64_t began = StepLog::now();
  do_work(step, index, share, begin, end);
  log->note({index, static_cast<uint32_t>(share), began, StepLog::now()});
}

void TeamWork::do_work(const PlanStep& step, uint32_t index, int share, int64_t begin, int64_t end) {
  if (step.kind == fb::StepKind::launch) return launch(step, index, share, begin, end);
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
  if (overlap && begin > 0) return;  // the thread that has the first task moves all data
  if (overlap) from = 0, to = bound.bytes;
  std::memmove(destination + from, source + from, static_cast<size_t>(to - from));
}

void TeamWork::launch(const PlanStep& step, uint32_t index, int share, int64_t begin, int64_t end) {
  const BoundStep& bound = bound_.step(index);
  const gart_kernel_args args = {bound.operands, bound.params, scratch_ + share * scratch_stride_, imports_};
  const int32_t code = reinterpret_cast<gart_kernel>(const_cast<void*>(step.function))(&args, begin, end);
  if (code == GART_KERNEL_OK) return;
  const uint64_t failure = uint64_t(index) << 32 | uint32_t(code);
  uint64_t seen = failed_.load(std::memory_order_relaxed);
  while (failure < seen && !failed_.compare_exchange_weak(seen, failure, std::memory_order_relaxed)) {
  }
}

}  // namespace gart::cpu
