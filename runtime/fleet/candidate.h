// Where the groups of a request go that are placed when it begins: each where it is estimated to end first, given what
// its devices have to do already.
#pragma once

namespace gart::fleet {

/// A device as a group finds it. Times: microseconds from now.
struct Candidate {
  bool full = false;   // as many groups wait for it as may
  double free_at = 0;  // when what it has to do is done
  double arrival = 0;  // when the last input lies there
  double us = 0;       // of the group
};

/// Does the group rather go to `a`, where its estimated end is first? A full one is not given more while another one is
/// not full.
bool is_better(const Candidate& a, const Candidate& b);

}  // namespace gart::fleet
