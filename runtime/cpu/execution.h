// One run of a bound plan on the CPU, or of the steps that a device leaves to it.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/bound_plan.h"
#include "runtime/cpu/thread_team.h"

namespace gart {

/// What a run works on. `team` is owned by this run, or null: then the caller works alone.
struct ExecutionContext {
  BoundPlan& bound;
  Outputs& outputs;
  Block& scratch;  // per-thread scratch, thread i at i * stride
  ThreadTeam* team;
  const void* const* imports;
};

class Execution {
 public:
  explicit Execution(const ExecutionContext& context) : context_(context), plan_(context.bound.plan()) {}

  Result<void> run();
  /// Launches that follow each other, of a plan that a device runs.
  Result<void> run_steps(uint32_t begin, uint32_t end);

 private:
  Result<void> sequence(uint32_t index);
  Result<void> team_steps(uint32_t begin, uint32_t end);
  struct TeamJob {
    Execution* execution;
    uint32_t begin, end;
  };
  static void walk_job(void* data, int thread);
  void walk(int thread, int threads, uint32_t begin, uint32_t end);
  void work(const PlanStep& step, uint32_t index, int thread, int64_t begin, int64_t end);
  void do_work(const PlanStep& step, uint32_t index, int thread, int64_t begin, int64_t end);
  void launch(const PlanStep& step, uint32_t index, int thread, int64_t begin, int64_t end);
  Result<void> branch(const PlanStep& step);
  Result<void> loop(const PlanStep& step);
  Result<void> carry(const fb::Loop& loop);
  Result<void> bind(const PlanStep& step);
  Result<void> fail(const PlanStep& step, uint32_t index);
  /// The value in a buffer that a control step reads or writes; fails if the buffer is smaller.
  template <class T>
  Result<T*> scalar(int32_t buffer);
  void reserve_scratch();

  ExecutionContext context_;
  const Plan& plan_;
  int64_t scratch_stride_ = 0;
  // The first step that failed, shifted left by 32, and its code; kNone: none did. All threads go on to the end of the
  // team's steps, without working, so that barriers stay matched.
  static constexpr uint64_t kNone = ~uint64_t{0};
  std::atomic<uint64_t> failed_{kNone};
};

}  // namespace gart
