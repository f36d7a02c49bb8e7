// The lifetimes of a plan's buffers, in the total order of the steps.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "compiler/plan/plan.h"

namespace gcg {

/// Positions of the first and last use; -1: none.
struct LiveRange {
  int first = -1, last = -1;
  void include(int f, int l) {
    first = first < 0 ? f : std::min(first, f);
    last = std::max(last, l);
  }
  bool overlaps(const LiveRange& o) const { return first <= o.last && o.first <= last; }
};

/// Positions of all steps, and the lifetime of each buffer. A buffer lives as long as a whole loop if it is carried, or
/// used both inside and outside the loop's subgraph. Launches that do one piece of work have the same position.
class Lifetimes {
 public:
  explicit Lifetimes(const Plan& plan);

  IndexedVector<BufferId, LiveRange> ranges;
  std::map<const Step*, int> at;  ///< position of a step, or of a control step's decision

 private:
  using Path = std::vector<SequenceId>;  // enclosing loops, outermost first

  void find_homes(SequenceId sequence, const Path& path);
  void meet(BufferId b, const Path& path);
  std::set<BufferId> walk(SequenceId sequence, const Path& path);

  const Plan& plan_;
  std::map<BufferId, Path> paths_;  // the loops that contain all uses of a buffer
  int position_ = 0;
};

}  // namespace gcg
