#include "tools/gcc-graph/support/nearest.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

/// The number of letters to insert, remove, replace or exchange with a neighbour (optimal string alignment).
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before, last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = last;
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::string suggestion(const std::string& word, const std::vector<std::string>& words) {
  constexpr size_t kLongest = 100;
  size_t best = std::min<size_t>(2, word.size() / 3) + 1;
  std::string found;
  for (const std::string& w : words) {
    if (w.size() > kLongest || word.size() > kLongest) continue;
    if (const size_t d = distance(word, w); d < best) best = d, found = w;
  }
  return found.empty() ? "" : concat(" (did you mean '", found, "'?)");
}

}  // namespace gcg::tools
