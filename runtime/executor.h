// One run of a bound plan: passes its steps to the device's lane, and decides branches and loops between them.
#pragma once

#include "runtime/device.h"

namespace gart {

class Executor {
 public:
  Executor(const Run& run, Lane& lane) : run_(run), plan_(run.bound.plan()), lane_(lane) {}

  /// Returns when all steps are enqueued. Throws Failure.
  void run();

 private:
  void sequence(uint32_t index);
  void decide(uint32_t step);
  void branch(const PlanStep& step);
  void loop(const PlanStep& step);
  void write_iteration(uint32_t buffer, int64_t value);
  void carry(const fb::Loop& loop);
  void bind(const PlanStep& step);
  void fail_step(const PlanStep& step, const int64_t* params);
  void check_size(uint32_t buffer, int64_t bytes) const;
  /// Reads the value in a buffer.
  template <class T>
  T scalar(uint32_t buffer);

  const Run& run_;
  const Plan& plan_;
  Lane& lane_;
};

}  // namespace gart
