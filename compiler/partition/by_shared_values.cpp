#include "compiler/partition/by_shared_values.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace gcg {

Groups by_shared_values(const Dag& dag, const Groups& groups, const std::vector<int>& classes,
                        const std::vector<SharedValue>& values) {
  std::vector<int> parent(classes.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int v) {
    while (parent[static_cast<size_t>(v)] != v)
      v = parent[static_cast<size_t>(v)] = parent[static_cast<size_t>(parent[static_cast<size_t>(v)])];
    return v;
  };
  std::vector<bool> shares(classes.size(), false);
  for (const SharedValue& value : values) {
    SharedValue together;
    for (int v : value)
      if (classes[static_cast<size_t>(v)] == classes[static_cast<size_t>(value.front())]) together.push_back(v);
    if (together.size() < 3) continue;  // a value with one reader is not shared
    for (int v : together) {
      parent[static_cast<size_t>(root(v))] = root(value.front());
      shares[static_cast<size_t>(v)] = true;
    }
  }
  std::map<int, std::vector<int>> shared;
  for (int v = 0; v < dag.size(); ++v)
    if (shares[static_cast<size_t>(v)]) shared[root(v)].push_back(v);
  Groups out;
  for (const std::vector<int>& group : groups) {
    std::vector<int> rest;
    for (int v : group)
      if (!shares[static_cast<size_t>(v)]) rest.push_back(v);
    if (!rest.empty()) out.push_back(std::move(rest));
  }
  for (auto& [first, nodes] : shared) out.push_back(std::move(nodes));
  return ordered(dag, out);
}

}  // namespace gcg
