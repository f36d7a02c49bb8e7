#include "compiler/place/dynamic.h"

#include <algorithm>
#include <limits>

namespace gcg::place {

int place_ready(const std::vector<DynamicDevice>& devices) {
  int best = -1;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < devices.size(); ++i) {
    const DynamicDevice& d = devices[i];
    if (!d.supported || d.needed_bytes > d.free_bytes || d.queued >= d.most_queued) continue;
    const double end = std::max(d.free_at, d.arrival) + d.us;
    if (end < least) {
      least = end;
      best = static_cast<int>(i);
    }
  }
  return best;
}

}  // namespace gcg::place
