// The queue of work that the device has not done yet: a graph of operations. Operations run only when the host waits,
// in an order that respects only the edges. The queue also checks that two operations touch different bytes if no path
// orders them.
//
// Only three things order operations: a stream (one after the other), events between streams, and a graph's edges. Work
// on different streams may otherwise run in any order (CUDA C++ Programming Guide, "Streams", "Events", "CUDA Graphs").
// Non-blocking streams do not wait for the default stream (CUDA Driver API, "Stream synchronization behavior"). If a
// programmatic edge starts work early, only griddepcontrol.wait orders it (PTX ISA, griddepcontrol; Programming Guide,
// "Programmatic Dependent Launch and Synchronization").
#ifndef GART_TESTS_CUDA_SIM_DRIVER_QUEUE_H
#define GART_TESTS_CUDA_SIM_DRIVER_QUEUE_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda/sim/engine/memory.h"

namespace gart_sim {

// Chooses among the operations that may run.
struct Order {
  enum class Kind {
    first_in,  // in the order of enqueueing, and only operations on which the wait depends
    last_in,   // the operation that was enqueued last
    random,
    delay,  // one victim runs only if nothing else can; the victim changes from wait to wait
    mixed,  // one of the other kinds, which changes from wait to wait
  };
  Kind kind = Kind::mixed;
  uint64_t seed = 1;
};

struct Operation {
  std::string label;
  std::function<int(Footprint&)> run;  // returns a CUresult
  size_t index = 0;                    // in the queue
  std::vector<size_t> after;           // operations that must be done before this one
  std::vector<size_t>
      overlapped;  // kernels that must be done before its threads pass their wait, but may run when it starts
  std::vector<uint64_t> ancestors;  // one bit per operation that comes before it if all threads execute their wait
  std::vector<uint64_t> known;      // those of `ancestors` that the host had waited for
  // Set when the operation runs. One bit per operation that surely comes before its start, before its threads' work
  // after their wait, and before its end. A thread that does not wait breaks the order for all successors.
  std::vector<uint64_t> before_start, before_rest, before_end;
  Footprint footprint;
  bool is_done = false;
  int error = 0;
};

class OperationQueue {
 public:
  using Id = uint64_t;  // 0: no operation, always done
  static constexpr Id kAll = ~Id{0};

  // `after` may name operations that are done and forgotten. `overlapped`: kernels for which the threads of `run`,
  // itself a kernel, wait.
  Id add(std::string label, const std::vector<Id>& after, std::function<int(Footprint&)> run,
         const std::vector<Id>& overlapped = {});
  // Runs until `id` (or everything) is done. Returns the first error of an operation.
  int wait(Id id, const Order& order);
  // Runs a few operations, as a device does while the host polls.
  int advance(size_t count, const Order& order);
  [[nodiscard]] bool is_done(Id id) const;
  // True if `earlier` is done, surely comes before `later`, or is the same operation.
  [[nodiscard]] bool is_after(Id later, Id earlier) const;
  // Drops pending operations: the context is lost.
  void abandon();
  [[nodiscard]] size_t pending() const { return pending_; }
  // All bytes touched so far, if no operation has been forgotten.
  [[nodiscard]] Footprint touched() const;

 private:
  [[nodiscard]] bool is_ready(const Operation& operation) const;
  Operation* choose(const std::vector<bool>& needed, const Order& order, size_t victim, bool only_needed);
  int execute(Operation& operation);
  void find_order(Operation& operation) const;
  [[nodiscard]] bool races(const Operation& operation) const;  // reports a race that it finds
  static bool reads_undefined(const Operation& operation);     // reports a read that it finds
  void host_waited_for(const Operation& operation);
  void forget_done();
  std::vector<bool> needed_for(Id id) const;

  std::vector<std::unique_ptr<Operation>> operations_;
  Id first_id_ = 1;  // of operations_[0]
  size_t pending_ = 0;
  std::vector<uint64_t> known_done_;  // the host has waited for these, so later work comes after them
  uint64_t waits_ = 0;
};

}  // namespace gart_sim
#endif
