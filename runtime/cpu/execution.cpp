#include "runtime/cpu/execution.h"

#include <algorithm>
#include <cstring>

#include "artifact_schema/container.h"
#include "runtime/errors.h"
#include "runtime/step_log.h"
#include "runtime/step_errors.h"

namespace gart {
namespace {

/// A second of a loop that does nothing, and hours of what models do in loops: a forged file cannot exceed it.
constexpr int64_t kMostTurns = int64_t{1} << 28;

/// Part `index` of `parts` equal parts of [0, total).
int64_t part_begin(int64_t total, int index, int parts) {
  return total / parts * index + std::min<int64_t>(total % parts, index);
}

}  // namespace

Result<void> Execution::run() {
  reserve_scratch();
  return sequence(static_cast<uint32_t>(plan_.sequence_begin.size()) - 2);
}

Result<void> Execution::run_steps(uint32_t begin, uint32_t end) {
  reserve_scratch();
  return team_steps(begin, end);
}

void Execution::reserve_scratch() {
  const int threads = context_.team == nullptr ? 1 : context_.team->size();
  scratch_stride_ = static_cast<int64_t>(align_up(static_cast<uint64_t>(context_.bound.scratch_bytes()), kAlignment));
  context_.scratch.reserve(static_cast<size_t>(scratch_stride_) * static_cast<size_t>(threads));
}

Result<void> Execution::sequence(uint32_t index) {
  const uint32_t end = plan_.sequence_begin[index + 1];
  for (uint32_t i = plan_.sequence_begin[index]; i < end;) {
    const PlanStep& step = plan_.steps[i];
    if (runs_in_team(step.kind)) {
      GART_TRY(team_steps(i, step.run_end));
      i = step.run_end;
      continue;
    }
    ++i;
    switch (step.kind) {
      case fb::StepKind::branch:
        GART_TRY(branch(step));
        break;
      case fb::StepKind::loop:
        GART_TRY(loop(step));
        break;
      case fb::StepKind::bind:
        GART_TRY(bind(step));
        break;
      default:
        GART_TRY(fail(step, i - 1));
        break;
    }
  }
  return {};
}

Result<void> Execution::team_steps(uint32_t begin, uint32_t end) {
  bool parallel = false;
  for (uint32_t i = begin; i < end && context_.team != nullptr; ++i)
    parallel = parallel || context_.bound.step(i).tasks > 1;
  if (!parallel) {
    walk(0, 1, begin, end);
  } else {
    TeamJob job{this, begin, end};
    context_.team->run(&Execution::walk_job, &job);
  }
  const uint64_t failed = failed_.load(std::memory_order_relaxed);
  if (failed == kNone) return {};
  return kernel_error(*plan_.steps[failed >> 32].manifest, static_cast<uint32_t>(failed));
}

void Execution::walk_job(void* data, int thread) {
  const TeamJob& job = *static_cast<TeamJob*>(data);
  job.execution->walk(thread, job.execution->context_.team->size(), job.begin, job.end);
}

void Execution::walk(int thread, int threads, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end; ++i) {
    const BoundStep& bound = context_.bound.step(i);
    if (threads > 1 && i > begin && bound.barrier_before) context_.team->barrier();
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

void Execution::work(const PlanStep& step, uint32_t index, int thread, int64_t begin, int64_t end) {
  StepLog* const log = context_.bound.log;
  if (log == nullptr) return do_work(step, index, thread, begin, end);
  const int64_t began = StepLog::now();
  do_work(step, index, thread, begin, end);
  log->note({index, static_cast<uint32_t>(thread), began, StepLog::now()});
}

void Execution::do_work(const PlanStep& step, uint32_t index, int thread, int64_t begin, int64_t end) {
  if (step.kind == fb::StepKind::launch) return launch(step, index, thread, begin, end);
  const BoundStep& bound = context_.bound.step(index);
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

void Execution::launch(const PlanStep& step, uint32_t index, int thread, int64_t begin, int64_t end) {
  const BoundStep& bound = context_.bound.step(index);
  const gart_kernel_args args = {bound.operands, bound.params, context_.scratch.data() + thread * scratch_stride_,
                                 context_.imports};
  const int32_t code = step.kernel(&args, begin, end);
  if (code == GART_KERNEL_OK) return;
  const uint64_t failure = uint64_t(index) << 32 | uint32_t(code);
  uint64_t seen = failed_.load(std::memory_order_relaxed);
  while (failure < seen && !failed_.compare_exchange_weak(seen, failure, std::memory_order_relaxed)) {
  }
}

template <class T>
Result<T*> Execution::scalar(int32_t buffer) {
  const uint32_t index = static_cast<uint32_t>(buffer);
  if (context_.bound.bytes(index) >= int64_t(sizeof(T))) return static_cast<T*>(context_.bound.address(index));
  return error(ErrorCode::invalid_artifact, "buffer ", buffer, " has ", context_.bound.bytes(index),
               " bytes, but a step uses it for a value of ", sizeof(T));
}

Result<void> Execution::branch(const PlanStep& step) {
  Result<uint8_t*> condition = scalar<uint8_t>(int32_t(plan_.operands[step.first_operand]));
  if (!condition) return condition.error();
  return sequence(step.manifest->bodies()->Get(**condition != 0 ? 0 : 1));
}

Result<void> Execution::loop(const PlanStep& step) {
  const fb::Loop& loop = *step.manifest->loop();
  int64_t trips = INT64_MAX;
  if (loop.trip_count() >= 0) {
    Result<int64_t*> count = scalar<int64_t>(loop.trip_count());
    if (!count) return count.error();
    trips = **count;
  }
  for (int64_t i = 0; i < trips; ++i) {
    if (i == kMostTurns) return error(ErrorCode::run_failed, "a loop has not ended after ", i, " turns");
    if (loop.condition() >= 0) {
      Result<uint8_t*> condition = scalar<uint8_t>(loop.condition());
      if (!condition) return condition.error();
      if (**condition == 0) break;
    }
    if (loop.iteration() >= 0) {
      Result<int64_t*> iteration = scalar<int64_t>(loop.iteration());
      if (!iteration) return iteration.error();
      **iteration = i;
    }
    GART_TRY(sequence(step.manifest->bodies()->Get(0)));
    GART_TRY(carry(loop));
  }
  return {};
}

Result<void> Execution::carry(const fb::Loop& loop) {
  const auto from = span_of(loop.carried_from()), to = span_of(loop.carried_to());
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t bytes = context_.bound.bytes(from[i]);
    if (bytes != context_.bound.bytes(to[i])) {
      return error(ErrorCode::run_failed, "a loop carries ", bytes, " bytes into a buffer of ",
                   context_.bound.bytes(to[i]));
    }
    std::memmove(context_.bound.address(to[i]), context_.bound.address(from[i]), static_cast<size_t>(bytes));
  }
  return {};
}

Result<void> Execution::bind(const PlanStep& step) {
  Result<int64_t*> value = scalar<int64_t>(int32_t(plan_.operands[step.first_operand]));
  if (!value) return value.error();
  GART_TRY(context_.bound.bind_symbol(plan_.params[step.first_param], **value, context_.outputs));
  reserve_scratch();
  return {};
}

Result<void> Execution::fail(const PlanStep& step, uint32_t index) {
  const int64_t* params = context_.bound.step(index).params;
  if (step.params == 0) return fail_error(*step.manifest, 0, 0);
  return params[0] == params[1] ? Result<void>() : fail_error(*step.manifest, params[0], params[1]);
}

}  // namespace gart
