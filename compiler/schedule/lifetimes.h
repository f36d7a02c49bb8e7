// When each buffer of a schedule is in use, in the total order of the steps.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "compiler/schedule/schedule.h"

namespace gcg {

/// Positions of the first and the last use; -1: none.
struct LiveRange {
  int first = -1, last = -1;
  void include(int f, int l) {
    first = first < 0 ? f : std::min(first, f);
    last = std::max(last, l);
  }
};

/// Positions of all steps, and each buffer's lifetime. A buffer that a loop's body touches and that is also touched
/// outside of that body, or carried, lives as long as the whole loop.
class Lifetimes {
 public:
  explicit Lifetimes(const Schedule& schedule);

  std::vector<LiveRange> ranges;  ///< per buffer
  std::map<const Step*, int> at;  ///< where a step, or a control step's decision, stands

 private:
  using Path = std::vector<int>;  // enclosing loops, outermost first

  void find_homes(int sequence, const Path& path);
  void meet(BufferId b, const Path& path);
  std::set<BufferId> walk(int sequence, const Path& path);
  void touch(BufferId b, int first, int last) { ranges[static_cast<size_t>(b.index)].include(first, last); }

  const Schedule& s_;
  std::vector<int> homes_;
  std::map<BufferId, Path> paths_;
  int position_ = 0;
};

}  // namespace gcg
