#include "compiler/support/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <utility>

namespace gcg {
namespace {

size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t best = std::min({row[j] + 1, row[j + 1] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = std::exchange(row[j + 1], best);
    }
  }
  return row.back();
}

size_t common_beginning(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& known, size_t most) {
  std::vector<std::tuple<size_t, size_t, std::string>> order;
  for (const std::string& k : known)
    if (!k.empty()) order.emplace_back(edits(name, k), name.size() - common_beginning(name, k), k);
  most = std::min(most, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(most), order.end());
  std::vector<std::string> out;
  for (size_t i = 0; i < most; ++i) out.push_back(std::get<2>(order[i]));
  return out;
}

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  std::string out;
  for (const std::string& n : nearest_names(name, known)) out += (out.empty() ? "; the nearest: '" : ", '") + n + "'";
  return out;
}

}  // namespace gcg
