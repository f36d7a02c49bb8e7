// When each buffer of a plan is in use, in the total order of the steps.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "compiler/plan/plan.h"

namespace gcg {

/// Positions of the first and the last use; -1: none.
struct LiveRange {
  int first = -1, last = -1;
  void include(int f, int l) {
    first = first < 0 ? f : std::min(first, f);
    last = std::max(last, l);
  }
  bool overlaps(const LiveRange& o) const { return first <= o.last && o.first <= last; }
};

/// Positions of all steps, and each buffer's lifetime. A buffer that a loop's body touches and that is also touched
/// outside of that body, or carried, lives as long as the whole loop. Launches that do one piece of work stand at one
/// position.
class Lifetimes {
 public:
  explicit Lifetimes(const Plan& plan);

  IndexedVector<BufferId, LiveRange> ranges;
  std::map<const Step*, int> at;  ///< where a step, or a control step's decision, stands

 private:
  using Path = std::vector<SequenceId>;  // enclosing loops, outermost first

  void find_homes(SequenceId sequence, const Path& path);
  void meet(BufferId b, const Path& path);
  std::set<BufferId> walk(SequenceId sequence, const Path& path);

  const Plan& plan_;
  std::map<BufferId, Path> paths_;  // the loops that enclose every use of a buffer
  int position_ = 0;
};

}  // namespace gcg
