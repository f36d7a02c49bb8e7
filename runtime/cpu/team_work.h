// Consecutive steps that a team of threads works through together.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/bound_plan.h"
#include "runtime/cpu/program.h"
#include "runtime/cpu/thread_team.h"

namespace gart::cpu {

class TeamWork {
 public:
  /// `team` is used by this work alone; null: the caller works alone. The plan divides its steps among the pool's
  /// threads, and the team may have fewer. `scratch` grows if needed.
  TeamWork(BoundPlan& bound, Block& scratch, ThreadTeam* team, Program& program);

  /// Throws Failure naming the first step that failed.
  void run(uint32_t begin, uint32_t end);

 private:
  static uint32_t walk_job(void* data, int share, uint32_t begin);
  uint32_t walk(int share, uint32_t begin);
  int member(uint32_t thread) const;
  void walk_alone();
  /// True if no step failed and the run is not cancelled.
  bool goes_on() const;
  void work(const PlanStep& step, uint32_t index, int share, int64_t begin, int64_t end);
  void do_work(const PlanStep& step, uint32_t index, int share, int64_t begin, int64_t end);
  void launch(const PlanStep& step, uint32_t index, int share, int64_t begin, int64_t end);

  BoundPlan& bound_;
  const Plan& plan_;
  ThreadTeam* const team_;
  const int pool_threads_;
  const void* const* const imports_;
  uint8_t* scratch_ = nullptr;
  int64_t scratch_stride_ = 0;
  uint32_t begin_ = 0, end_ = 0;
  // The index of the first failed step, shifted left by 32, and its code; kNone: no step failed. All threads go on to
  // the end of the steps without working, so that barriers stay matched.
  static constexpr uint64_t kNone = ~uint64_t{0};
  std::atomic<uint64_t> failed_{kNone};
};

}  // namespace gart::cpu
