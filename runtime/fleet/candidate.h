// A device as a candidate for a group: the group goes where it is estimated to end first, given the work that the
// devices already have.
#pragma once

namespace gart::fleet {

/// A device as a candidate for a group. Times are in microseconds from now.
struct Candidate {
  bool full = false;   // True if the largest allowed number of groups already waits for the device
  double free_at = 0;  // time when its queued work will be done
  double arrival = 0;  // time when the group's last input will arrive
  double us = 0;       // duration of the group on the device
  bool lacks = false;  // True if values of running requests leave no room for the group's values
};

/// True if `a` is better than `b`: the group's estimated end is earlier there. A full device is worse than one that is
/// not full, and one without room is worse than both.
bool is_better(const Candidate& a, const Candidate& b);

}  // namespace gart::fleet
