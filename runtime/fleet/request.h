// One run of the whole model, or of what some values need: its values, and which calls may begin.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "artifact_schema/shape_program.h"
#include "runtime/fleet/assembly.h"
#include "runtime/fleet/gate.h"
#include "runtime/fleet/lane.h"
#include "runtime/fleet/monitor.h"
#include "runtime/fleet/route.h"
#include "runtime/memory.h"

namespace gart::fleet {

/// Where groups run.
struct Placement {
  std::vector<uint32_t> device;  // per group
  std::vector<Lane*> lane;       // per group
};

/// What requests of a fleet share; it outlives them.
struct Shared {
  const Assembly& assembly;
  Gate& gate;
  Monitor& monitor;
};

class RequestState final : public Job {
 public:
  explicit RequestState(const Shared& shared);
  RequestState(const RequestState&) = delete;
  RequestState& operator=(const RequestState&) = delete;
  ~RequestState() { wait_for_end(); }

  // While it is not under way. All throw Failure.
  void set_input(uint32_t input, const TensorView& tensor);
  void set_route(std::shared_ptr<const Route> route) { route_ = std::move(route); }
  const Route& route() const { return *route_; }
  /// Waits for a place among the requests under way. Fails before anything runs if inputs are missing or disagree.
  void start(std::shared_ptr<const Placement> placement);

  void wait_for_end();
  /// Of the last run, which has ended: the error that it failed with; null if it did not.
  const Error* failure() const { return failed_ ? &error_ : nullptr; }
  bool is_under_way() const { return under_way_.load(std::memory_order_acquire); }
  TensorView value(uint32_t value) const;
  struct CallTime {
    int64_t begin_ns = 0, end_ns = 0;  // since the run began; both 0: it did not run
  };
  /// Of the last run, per call.
  const std::vector<CallTime>& call_times() const { return call_times_; }
  const std::vector<uint32_t>& devices() const { return placement_->device; }  // per group
  bool has_run() const { return has_run_; }

  void work(Lane& lane, uint32_t call) noexcept override;

 private:
  struct Slot {
    TensorView view;     // shape and data, once it is there; an input: the caller's
    int64_t bytes = -1;  // of an early value
    Block own;
    bool set = false;
  };
  void check_inputs();
  void bind_inputs();
  void bind_value(uint32_t value);
  void evaluate_slots(const char* when);
  void check_extents(uint32_t value);
  void check_constraints();
  OutputBuffer room_for(uint32_t value);
  void take(uint32_t value, const TensorView& result, const OutputBuffer& room);
  void run_call(Lane& lane, uint32_t call);
  void note_time(Lane& lane, uint32_t call, int64_t begin, int64_t end);
  void note_failure(const Error& error);
  void pass_on(uint32_t call);
  void end_one();
  void finish();

  const Shared shared_;
  const Assembly& assembly_;
  std::shared_ptr<const Route> route_;
  std::shared_ptr<const Placement> placement_;
  std::vector<Slot> values_;
  std::vector<Shape> bound_;  // the inputs' shapes that slots and early values are for
  std::mutex late_;           // guards slots_ while calls are running
  Slots slots_;
  std::unique_ptr<std::atomic<uint32_t>[]> waits_;  // per call
  std::vector<CallTime> call_times_;
  std::vector<GroupSample> times_;  // per group; those that did not run have no operation
  uint64_t order_ = 0;
  int64_t began_ = 0;
  std::atomic<uint32_t> open_{0};  // calls that are queued or running
  std::atomic<bool> failed_{false};
  std::mutex failing_;
  Error error_;
  std::atomic<bool> under_way_{false};
  std::mutex ending_;
  std::condition_variable ended_;
  bool has_run_ = false;
};

}  // namespace gart::fleet
