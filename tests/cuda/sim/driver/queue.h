// Work handed to the device and not yet done: a graph of operations, run only when the host waits, in an order that
// respects nothing but the edges; and the check that operations which no path orders touch different bytes.
//
// What orders operations: a stream does, one after the other; events between streams do; a graph's edges do; nothing
// else, for streams of other programs may run at any time (CUDA C++ Programming Guide, "Streams", "Events", "CUDA
// Graphs"). Streams made non-blocking do not wait for the default one (CUDA Driver API, "Stream synchronization
// behavior"). Work that a programmatic edge starts early is ordered by griddepcontrol.wait alone (PTX ISA,
// griddepcontrol; Programming Guide, "Programmatic Dependent Launch and Synchronization").
#ifndef GART_TESTS_CUDA_SIM_DRIVER_QUEUE_H
#define GART_TESTS_CUDA_SIM_DRIVER_QUEUE_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda/sim/engine/memory.h"

namespace gart_sim {

// How to choose among the operations that may run.
struct Order {
  enum class Kind {
    first_in,  // In order of enqueueing, and nothing that need not be done.
    last_in,   // The one enqueued last.
    random,
    delay,  // One victim runs only when nothing else can; the victim changes from wait to wait.
    mixed,  // Another of these from wait to wait.
  };
  Kind kind = Kind::mixed;
  uint64_t seed = 1;
};

struct Operation {
  std::string label;
  std::function<int(Footprint&)> run;  // Returns a CUresult.
  size_t index = 0;                    // In the queue.
  std::vector<size_t> after;           // Those that must be done before.
  std::vector<size_t> overlapped;   // Kernels that are, too, but only before what its threads do once they have waited.
  std::vector<uint64_t> ancestors;  // One bit per operation that comes before where every thread waits that has to.
  std::vector<uint64_t> known;      // Of them, those that the host had waited for.
  // Known once it runs, one bit per operation that surely comes before: its start, what its threads do once they have
  // waited, and its end. A thread that does not wait breaks the order for whoever comes after.
  std::vector<uint64_t> before_start, before_rest, before_end;
  Footprint footprint;
  bool is_done = false;
  int error = 0;
};

class OperationQueue {
 public:
  using Id = uint64_t;  // 0: none, and done.
  static constexpr Id kAll = ~Id{0};

  // `after` may name operations that are done and forgotten. `overlapped`: kernels that `run`, a kernel, waits for
  // itself.
  Id add(std::string label, const std::vector<Id>& after, std::function<int(Footprint&)> run,
         const std::vector<Id>& overlapped = {});
  // Runs until `id`, or all, is done. Returns the first error of what it ran.
  int wait(Id id, const Order& order);
  // Runs a few operations, as a device does while the host looks.
  int advance(size_t count, const Order& order);
  [[nodiscard]] bool is_done(Id id) const;
  // Is `earlier` done, or surely before `later`, or `later` itself?
  [[nodiscard]] bool is_after(Id later, Id earlier) const;
  // Forgets what is not done: the context is lost.
  void abandon();
  [[nodiscard]] size_t pending() const { return pending_; }
  // All bytes touched so far, where nothing has been forgotten.
  [[nodiscard]] Footprint touched() const;

 private:
  [[nodiscard]] bool is_ready(const Operation& operation) const;
  Operation* choose(const std::vector<bool>& needed, const Order& order, size_t victim, bool only_needed);
  int execute(Operation& operation);
  void find_order(Operation& operation) const;
  [[nodiscard]] bool races(const Operation& operation) const;  // And reports it.
  static bool reads_undefined(const Operation& operation);     // And reports it.
  void host_waited_for(const Operation& operation);
  void forget_done();
  std::vector<bool> needed_for(Id id) const;

  std::vector<std::unique_ptr<Operation>> operations_;
  Id first_id_ = 1;  // Of operations_[0].
  size_t pending_ = 0;
  std::vector<uint64_t> known_done_;  // The host has waited for them: whatever it enqueues comes after.
  uint64_t waits_ = 0;
};

}  // namespace gart_sim
#endif
