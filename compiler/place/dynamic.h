// Where a ready group goes during a run: what a runtime asks when its devices are not those that were planned for.
#pragma once

#include <cstdint>
#include <vector>

namespace gcg::place {

/// A device as the group would find it.
struct DynamicDevice {
  bool supported = true;
  int64_t free_bytes = 0;           // of its memory, now
  int64_t needed_bytes = 0;         // for the group with its actual sizes, without what lies there already
  int queued = 0, most_queued = 1;  // groups that wait for it, and how many may
  double free_at = 0;               // when what it has is done, microseconds
  double arrival = 0;               // when the last input would lie there
  double us = 0;                    // of the group
};

/// The device where the group's estimated end is first, among those that support it, have the memory and whose queue is
/// not full; -1: none now. Ties: the first one.
int place_ready(const std::vector<DynamicDevice>& devices);

}  // namespace gcg::place
