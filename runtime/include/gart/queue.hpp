// Runs that nobody waits for: a queue runs a program, or a program of a fleet, on threads of its own, and calls a
// function when a run is over. libgart_fleet.so, over libgart.
//
//   auto queue = gart::RunQueue::of(*model, {.runs = 2});
//   auto run = queue->submit({{"x", x}}, [](gart::Result<std::span<const gart::NamedTensor>> outputs) { ... },
//                            {.timeout = std::chrono::milliseconds(20)});
//   queue->cancel(*run);
//
// It is the same for programs on CPUs, on GPUs and on fleets. Every call reports failure through Result (result.h).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "gart/fleet.hpp"
#include "gart/gart.hpp"

namespace gart {

struct QueueOptions {
  /// Most runs at a time, at most 1024. Each has a thread, and memory for its intermediate results and outputs. 0: two
  /// per device.
  int runs = 0;
  size_t waiting = 1024;  ///< most runs that wait; submit() of a further one fails with ErrorCode::busy
};

struct SubmitOptions {
  std::string_view entry = {};                   ///< of a program that does not run on a fleet; {}: the first
  std::span<const std::string_view> fetch = {};  ///< of a fleet: the values to compute, as fleet::Request::fetch()
  /// A run that is not over after this time fails with ErrorCode::timed_out, whether it waits or is in progress. Work
  /// that a GPU or another device of a fleet has begun still runs to its end first. 0: no limit.
  std::chrono::nanoseconds timeout{0};
};

/// Any number of threads may use a queue at once. Runs begin in the order of their submission.
class GART_API RunQueue {
 public:
  /// Called once for each run that submit() accepted, with its outputs, which are valid during the call only, or with
  /// its error. Called by a thread of the queue, or by the thread that cancels the run or destroys the queue. It may
  /// call all functions of the queue, and destroy it. An exception that it throws is dropped.
  using Done = std::function<void(Result<std::span<const NamedTensor>> outputs)>;

  static Result<RunQueue> of(const Program& program, const QueueOptions& options = {});
  static Result<RunQueue> of(const fleet::Program& program, const QueueOptions& options = {});
  RunQueue(RunQueue&&) noexcept;
  RunQueue& operator=(RunQueue&&) noexcept;
  /// Runs that wait fail with ErrorCode::cancelled; those in progress end first.
  ~RunQueue();

  /// Returns at once with the run's number. The inputs' data must stay valid and unchanged until `done` is called.
  Result<uint64_t> submit(std::span<const NamedTensor> inputs, Done done, const SubmitOptions& options = {}) const;
  /// Runs an invocation whose inputs and outputs the caller has set: one of a session, or one with memory of the
  /// caller. Nobody may use it until `done` is called. There are no outputs in that call; the invocation has them.
  Result<uint64_t> submit(Invocation& invocation, Done done, std::chrono::nanoseconds timeout = {}) const;
  /// The run fails with ErrorCode::cancelled, at once if it waits, otherwise before its next step (a fleet's: before
  /// its next part). Without effect if the run is over.
  void cancel(uint64_t run) const;
  size_t waiting() const;  ///< runs that have not begun

 private:
  struct Core;
  explicit RunQueue(std::shared_ptr<Core> state);
  static RunQueue open(std::shared_ptr<Core> state, size_t runs, const QueueOptions& options);
  std::shared_ptr<Core> state_;
};

}  // namespace gart
