#include "compiler/partition/by_crossings.h"

#include <map>
#include <set>
#include <tuple>

namespace gcg {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }

/// Numbers sets of groups.
class SetNumbers {
 public:
  int number(std::set<int> groups) {
    const auto [found, added] = numbers_.try_emplace(std::move(groups), static_cast<int>(sets_.size()));
    if (added) sets_.push_back(&found->first);
    return found->second;
  }
  const std::set<int>& set(int number) const { return *sets_[at(number)]; }

 private:
  std::map<std::set<int>, int> numbers_;
  std::vector<const std::set<int>*> sets_;
};

/// For each node: the number of the set of other groups that paths along `edges` reach through the node's own group. In
/// `order`, each node comes after the nodes to which its `edges` lead.
std::vector<int> groups_met(const std::vector<std::vector<int>>& edges, const std::vector<int>& group,
                            const std::vector<int>& order, SetNumbers& numbers) {
  std::vector<int> met(group.size());
  for (const int v : order) {
    std::set<int> all;
    std::set<int> seen;
    for (const int w : edges[at(v)]) {
      if (group[at(w)] != group[at(v)])
        all.insert(group[at(w)]);
      else if (seen.insert(met[at(w)]).second)
        all.insert(numbers.set(met[at(w)]).begin(), numbers.set(met[at(w)]).end());
    }
    met[at(v)] = numbers.number(std::move(all));
  }
  return met;
}

}  // namespace

Groups by_crossings(const Dag& dag, const Groups& groups) {
  const std::vector<int> group = group_of(dag, groups);
  std::vector<int> forwards, backwards;
  for (int v = 0; v < dag.size(); ++v) forwards.push_back(v);
  backwards.assign(forwards.rbegin(), forwards.rend());
  SetNumbers numbers;
  const std::vector<int> before = groups_met(dag.before, group, forwards, numbers);
  const std::vector<int> after = groups_met(dag.after, group, backwards, numbers);
  std::map<std::tuple<int, int, int>, std::vector<int>> pieces;
  for (int v = 0; v < dag.size(); ++v) pieces[{group[at(v)], before[at(v)], after[at(v)]}].push_back(v);
  Groups divided;
  for (auto& [key, nodes] : pieces) divided.push_back(std::move(nodes));
  return ordered(dag, divided);
}

}  // namespace gcg
