// Measures times on a machine with other load.
#pragma once

#include <algorithm>
#include <ctime>

namespace gcg::test {

/// Milliseconds of processor time of f, the smallest of some rounds.
template <class F>
double cpu_milliseconds(const F& f, int rounds = 3) {
  double best = 1e30;
  for (int i = 0; i < rounds; ++i) {
    const std::clock_t begin = std::clock();
    f();
    best = std::min(best, 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

}  // namespace gcg::test
