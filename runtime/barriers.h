// Finds the steps of a run that must wait for threads to finish earlier steps, by the bytes they touch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact_schema/buffer_plan.h"
#include "runtime/plan.h"

namespace gart {

/// The threads of a team that work on a step: one per task, at most `most`, from thread `first` on.
struct Share {
  int64_t tasks = 0;
  uint16_t first = 0, most = 1;
};

/// The thread of `step` first waits until `thread` has finished step `on`.
struct Wait {
  uint32_t step, thread, on;
};

/// Computes the order of the steps of each segment. A step needs no order if since the last barrier no step wrote the
/// memory it touches, and no step touched the memory it writes. Steps of the same thread need no order either. If each
/// of two steps runs on a single thread, a wait orders them; otherwise a barrier does. Steps that depend on run-bound
/// symbols always have a barrier.
class BarrierFinder {
 public:
  /// shares[i]: the share of step i; extents: those of input-bound buffers. Appends the waits, in the order of their
  /// steps.
  void find(const Plan& plan, std::span<const BufferExtent> extents, std::span<const Share> shares,
            std::vector<Wait>& waits);
  /// Per step of the plan: 1 if all threads wait for each other before it.
  std::span<const uint8_t> needed() const { return needed_; }

 private:
  /// Bytes [begin, end) of one memory: the arena, or one input or output.
  struct Access {
    uint64_t space;
    int64_t begin, end;
    uint32_t step;
    int thread;  // the only thread that works on the step; -1: several threads do
    bool write;
  };
  /// The arguments of find().
  struct Problem {
    const Plan& plan;
    std::span<const BufferExtent> extents;
    std::vector<Wait>& waits;
  };
  bool add(const Problem& problem, uint32_t index, const Share& share);
  static Access access_of(const Problem& problem, uint32_t buffer, bool write, uint32_t step, int thread);
  static bool conflicts(const Access& a, const Access& b);

  std::vector<uint8_t> needed_;
  std::vector<Access> window_;  // since the last barrier
};

}  // namespace gart
