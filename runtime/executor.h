// One run of a bound plan: hands its steps to the lanes of their devices, and decides branches and loops between them.
#pragma once

#include <memory>
#include <span>

#include "runtime/device.h"

namespace gart {

class Executor {
 public:
  /// `lanes`: one per device of the plan.
  Executor(const Run& run, std::span<const std::unique_ptr<Lane>> lanes)
      : run_(run), plan_(run.bound.plan()), lanes_(lanes) {}

  /// Returns when all is enqueued. Throws Failure.
  void run();

 private:
  void sequence(uint32_t index);
  void enqueue(const Segment& segment);
  void steer(uint32_t step);
  void branch(const PlanStep& step);
  void loop(const PlanStep& step);
  void write_iteration(uint32_t buffer, int64_t value);
  void carry(const fb::Loop& loop);
  void bind(const PlanStep& step);
  void fail_step(const PlanStep& step, const int64_t* params);
  void check_size(uint32_t buffer, int64_t bytes) const;
  /// The value in a buffer.
  template <class T>
  T scalar(uint32_t buffer);
  /// Of the device in whose memory a buffer lies.
  Lane& home(uint32_t buffer) const { return *lanes_[size_t(plan_.buffer(plan_.base_of(buffer)).place())]; }

  const Run& run_;
  const Plan& plan_;
  const std::span<const std::unique_ptr<Lane>> lanes_;
  uint32_t last_ = 0;  // the device that took the last segment
};

}  // namespace gart
