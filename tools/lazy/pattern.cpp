#include "tools/lazy/pattern.h"

#include <map>
#include <utility>

namespace gcc_graph::lazy {

Pattern Pattern::of(const std::vector<int64_t>& extents) {
  return {extents, std::vector<int32_t>(extents.size(), -1), 0};
}

Pattern Pattern::widened(const std::vector<int64_t>& made_of, const std::vector<int64_t>& extents) const {
  Pattern wide = *this;
  wide.symbols = 0;
  std::map<std::pair<int64_t, int64_t>, int32_t> numbers;  // symbol numbers, by the pair of old and new extent
  for (size_t i = 0; i < extents.size(); ++i) {
    if (symbol[i] < 0 && made_of[i] == extents[i]) continue;
    const auto [it, fresh] = numbers.try_emplace({made_of[i], extents[i]}, wide.symbols);
    wide.symbols += fresh ? 1 : 0;
    wide.symbol[i] = it->second;
  }
  return wide;
}

bool Pattern::match(const std::vector<int64_t>& extents, std::vector<int64_t>& values) const {
  values.assign(static_cast<size_t>(symbols), -1);
  for (size_t i = 0; i < extents.size(); ++i) {
    if (symbol[i] < 0) {
      if (fixed[i] != extents[i]) return false;
      continue;
    }
    int64_t& value = values[static_cast<size_t>(symbol[i])];
    if (value >= 0 && value != extents[i]) return false;
    value = extents[i];
  }
  return true;
}

std::vector<int64_t> flat_extents(const Cut& cut) {
  std::vector<int64_t> all;
  for (const Extents* e : cut.extents) all.insert(all.end(), e->values.begin(), e->values.end());
  return all;
}

std::vector<size_t> first_extents(const Cut& cut) {
  std::vector<size_t> first(cut.nodes.size(), 0);
  size_t list = 0, next = 0, evaluated = 0;
  for (uint32_t at = 0; at < cut.nodes.size(); ++at) {
    const bool is_given = evaluated < cut.evaluated.size() && cut.evaluated[evaluated] == at;
    evaluated += is_given ? 1 : 0;
    if (!is_given && cut.nodes[at]->ints == nullptr) continue;
    first[at] = next;
    next += cut.extents[list++]->values.size();
  }
  return first;
}

}  // namespace gcc_graph::lazy
