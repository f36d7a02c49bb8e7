// The list schedulers of the literature: one group after the other goes to the device that a rule likes best. Fast, and
// none of them good everywhere; place() tries them all on the simulator.
#pragma once

#include <vector>

#include "compiler/place/problem.h"
#include "compiler/place/random.h"

namespace gcg::place {

enum class ListRule : uint8_t {
  heft,     // largest upward rank first, to the device where it ends first (Topcuoglu 2002)
  peft,     // ... where it and what has to follow end first, by a table of optimistic costs (Arabnejad 2014)
  etf,      // of what is ready, what can start first (Hwang 1989)
  min_min,  // of what is ready, what can end first
  max_min,  // of what is ready, what would end last on the device where it ends first
  cpop,     // what lies on the longest path to the one device that runs it soonest (Topcuoglu 2002)
  chains,   // a chain of the heaviest successors goes to one device
};

/// What costs as the rules see them are: means over the devices that can run a group, and over all links.
class Ranks {
 public:
  /// `sent`: the share of the values that cross devices.
  explicit Ranks(const Problem& problem, double sent = 1);

  const std::vector<int>& topological() const { return topological_; }
  int topological_position(int group) const { return position_[static_cast<size_t>(group)]; }
  /// From the begin of the group to the end of the run, if all took what they take on average.
  double upward(int group) const { return upward_[static_cast<size_t>(group)]; }
  double mean_transfer(int value) const;
  /// Until the group can begin, likewise. Upward and downward together are the length of the longest path through it.
  double downward(int group) const { return downward_[static_cast<size_t>(group)]; }
  const std::vector<int>& by_upward_rank() const { return by_rank_; }
  /// That a rule multiplies its own ranks by: 1 unless they are disturbed.
  double factor(int group) const { return factor_[static_cast<size_t>(group)]; }
  /// Each group's rank larger or smaller by up to `share`.
  Ranks disturbed(double share, Random& random) const;

 private:
  const Problem& problem_;
  double mean_us_ = 0, mean_us_per_byte_ = 0;  // of links
  std::vector<int> topological_, position_, by_rank_;
  std::vector<double> upward_, downward_, factor_;
};

/// Weights and the largest live set of a group are reserved on its device. Where nothing is large enough any more the
/// device that is too small by the least takes it: the placement has to be mended then.
Placement list_schedule(const Problem& problem, const Ranks& ranks, ListRule rule);

/// The groups of a placement in the order of upward ranks by the costs that its devices have.
std::vector<int> order_by_rank(const Problem& problem, const Ranks& ranks, const std::vector<int>& device);

}  // namespace gcg::place
