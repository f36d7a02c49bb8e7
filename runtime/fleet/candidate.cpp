#include "runtime/fleet/candidate.h"

#include <algorithm>

namespace gart::fleet {

bool is_better(const Candidate& a, const Candidate& b) {
  if (a.lacks != b.lacks) return b.lacks;
  if (a.full != b.full) return b.full;
  return std::max(a.free_at, a.arrival) + a.us < std::max(b.free_at, b.arrival) + b.us;
}

}  // namespace gart::fleet
