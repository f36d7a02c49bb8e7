// List schedulers from the literature: one group after the other goes to the device that a rule prefers. They are fast,
// but none is good for all problems. Therefore place() compares them all on the simulator.
#pragma once

#include <vector>

#include "compiler/place/problem.h"
#include "compiler/place/random.h"

namespace gcg::place {

enum class ListRule : uint8_t {
  heft,  // the group with the largest upward rank goes to the device where it ends first (Topcuoglu 2002)
  // Like heft, but a table of optimistic costs gives the rank. The choice of the device also counts the time after this
  // group until the end of the run (Arabnejad 2014).
  peft,
  etf,      // among ready groups, the one that can start first (Hwang 1989)
  min_min,  // among ready groups, the one that can end first
  max_min,  // among ready groups, the one whose earliest end is the latest
  cpop,     // all groups on the longest path go to the device that runs them soonest (Topcuoglu 2002)
  chains,   // a chain of the heaviest successors goes to one device
};

/// The costs that the rules use: means over the devices that can run a group, and over all links.
class Ranks {
 public:
  /// `sent`: the share of the values that cross devices.
  explicit Ranks(const Problem& problem, double sent = 1);

  const std::vector<int>& topological() const { return topological_; }
  int topological_position(int group) const { return position_[static_cast<size_t>(group)]; }
  /// Upward rank: time from the start of the group to the end of the run, with mean costs.
  double upward(int group) const { return upward_[static_cast<size_t>(group)]; }
  double mean_transfer(int value) const;
  /// Downward rank: time until the group can begin, with mean costs. The sum of upward and downward rank is the length
  /// of the longest path through the group.
  double downward(int group) const { return downward_[static_cast<size_t>(group)]; }
  const std::vector<int>& by_upward_rank() const { return by_rank_; }
  /// The factor by which a rule multiplies its own ranks: 1 unless they are perturbed.
  double factor(int group) const { return factor_[static_cast<size_t>(group)]; }
  /// A copy in which the rank of each group is changed at random, by at most `share` of the rank.
  Ranks disturbed(double share, Random& random) const;

 private:
  const Problem& problem_;
  double mean_us_ = 0, mean_us_per_byte_ = 0;  // means over links
  std::vector<int> topological_, position_, by_rank_;
  std::vector<double> upward_, downward_, factor_;
};

/// Reserves a group's weights and largest live set on its device. If no device has enough memory left, the group goes
/// to the device that lacks the least; the placement must then be repaired.
Placement list_schedule(const Problem& problem, const Ranks& ranks, ListRule rule);

/// The groups in the order of upward ranks, computed with the costs on the given devices.
std::vector<int> order_by_rank(const Problem& problem, const Ranks& ranks, const std::vector<int>& device);

}  // namespace gcg::place
