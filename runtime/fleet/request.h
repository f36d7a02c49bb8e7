// One run of the whole model, or of the calls that some values need: its values, and which calls may begin.
//
// A value lies in host memory if a call on the host reads it or the caller wants it. It also lies in the memory of the
// GPU that makes it and of the GPUs that read it. Data that lanes write for each other has its own cache lines.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "artifact_schema/shape_program.h"
#include "runtime/fleet/assembly.h"
#include "runtime/fleet/course.h"
#include "runtime/fleet/gate.h"
#include "runtime/fleet/lane.h"
#include "runtime/fleet/monitor.h"
#include "runtime/fleet/placement.h"
#include "runtime/fleet/route.h"
#include "runtime/memory.h"

namespace gart::fleet {

/// Data that the requests of a fleet share; it outlives them.
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

  // These functions may only be called while the request is not running. All throw Failure.
  void set_input(uint32_t input, const TensorView& tensor);
  void set_route(std::shared_ptr<const Route> route) { route_ = std::move(route); }
  const Route& route() const { return *route_; }
  /// Checks the inputs. Returns the bytes of each value, or 0 where the inputs' shapes do not determine them.
  std::span<const int64_t> sizes() {
    check_inputs();
    return sizes_;
  }
  /// Waits until another request may run. Fails before anything runs if inputs are missing or disagree.
  void start(std::shared_ptr<const Placement> placement);
  /// Makes the current run, or the next one if there is none, fail before its next call. Any thread may call it.
  void cancel() { cancelled_ = true; }
  void forget_cancel() { cancelled_ = false; }

  void wait_for_end();
  /// The error of the last run, which must have ended; null if it succeeded.
  const Error* failure() const { return failed_ ? &error_ : nullptr; }
  bool is_under_way() const { return under_way_.load(std::memory_order_acquire) && shared_.gate.here(); }
  /// Throws Failure in a child of fork().
  void check_here() const;
  /// True if the request was running in the process from which this one was forked. That process's lanes continue it.
  bool is_orphaned() const { return under_way_.load(std::memory_order_acquire) && !shared_.gate.here(); }
  TensorView value(uint32_t value) const;
  struct CallTime {
    int64_t begin_ns = 0, end_ns = 0;  // times since the run began; both are 0 if the call did not run
    int64_t idle_ns = 0;               // idle time of its lane before the call
    bool crossed = false;              // True if another lane made one of its inputs
  };
  /// The call's times in the last run.
  const CallTime& call_time(uint32_t call) const { return calls_[call].time; }
  const std::vector<uint32_t>& devices() const { return course_.devices(); }  // per group
  bool has_run() const { return has_run_; }

  void work(Lane& lane, uint32_t call) noexcept override;

 private:
  /// A value in the memory of a device that makes or reads it.
  struct Copy {
    explicit Copy(Space& where) : space(&where), block(&where.memory()) {}
    Space* space;
    Block block;
    bool there = false;
  };
  struct alignas(64) Slot {
    TensorView view;     // the shape and, when it exists, the data in host memory; for an input: the caller's
    int64_t bytes = -1;  // size of an input-bound value
    Block buffer;
    std::vector<Copy> copies;  // copies in the memory of the maker and of other devices that read the value; may be
                               // empty
    bool set = false;
    bool on_host = true;
  };
  struct alignas(64) CallState {
    QueuedCall queued;
    std::atomic<uint32_t> waits{0};  // number of other calls that must end before this call
    CallTime time;
  };
  void check_inputs();
  void bind_inputs();
  void bind_value(uint32_t value);
  void evaluate_slots(const char* when);
  void check_extents(uint32_t value);
  void check_constraints();
  void place_values();
  void place_outputs(uint32_t call);
  bool can_read(uint32_t value, const Lane& lane) const;
  TensorView view_for(uint32_t value, const Space* space);
  OutputBuffer room_for(uint32_t value, const Space* space);
  void take(uint32_t value, const TensorView& result, const OutputBuffer& room);
  void run_call(Lane& lane, uint32_t call);
  bool is_crossed(uint32_t call) const;
  void note_time(Lane& lane, uint32_t call, int64_t begin, int64_t end);
  void note_failure(Error error);
  Lane& lane_of(uint32_t call) const { return course_.lane_of(call); }
  Lane& final_lane_of(uint32_t call) noexcept;
  void choose_device(uint32_t call);
  int64_t known_bytes(uint32_t value);
  void pass_on(Lane& lane, uint32_t call);
  void end_one();
  void add_times(int64_t run_ns);
  void finish();

  const Shared shared_;
  const Assembly& assembly_;
  std::shared_ptr<const Route> route_;
  Course course_;
  std::shared_ptr<const Route> placed_route_;          // the route for which values_ have memory
  std::shared_ptr<const Placement> placed_placement_;  // the placement for which values_ have memory
  std::vector<Slot> values_;
  std::vector<Shape> bound_;    // input shapes for which slots and input-bound values were computed
  std::vector<int64_t> sizes_;  // per value, for these shapes
  std::unique_ptr<CallState[]> calls_;
  std::vector<GroupSample> times_;  // per group
  int64_t began_ = 0;
  std::atomic<bool> failed_{false}, cancelled_{false};
  std::mutex failing_;
  Error error_;
  std::mutex run_bound_mutex_;  // guards slots_ while calls are running
  Slots slots_;
  alignas(64) std::atomic<uint32_t> open_{0};  // calls that are queued or running
  alignas(64) std::atomic<bool> under_way_{false};
  std::mutex ending_;
  std::condition_variable ended_;
  bool has_run_ = false;
};

}  // namespace gart::fleet
