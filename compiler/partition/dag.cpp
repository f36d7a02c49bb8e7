#include "compiler/partition/dag.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>

#include "compiler/support/error.h"

namespace gcg {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }

/// Takes groups one after another: a whole group if all its predecessors are done, otherwise only its ready nodes.
class Walk {
 public:
  Walk(const Dag& dag, const Groups& groups)
      : dag_(dag), groups_(groups), group_(group_of(dag, groups)), waits_(groups.size()), free_(groups.size()) {
    for (int v = 0; v < dag.size(); ++v) {
      missing_.push_back(static_cast<int>(dag.before[at(v)].size()));
      for (int u : dag.before[at(v)]) waits_[at(group_[at(v)])] += group_[at(u)] != group_[at(v)];
    }
    for (int v = 0; v < dag.size(); ++v)
      if (missing_[at(v)] == 0) free_node(v);
    for (size_t g = 0; g < groups.size(); ++g)
      if (waits_[g] == 0 && !groups[g].empty()) ready_groups_.insert(key(static_cast<int>(g)));
  }

  Groups run() {
    while (!begins_.empty()) take((ready_groups_.empty() ? begins_ : ready_groups_).begin()->second);
    return std::move(taken_);
  }

 private:
  using Key = std::pair<int, int>;  // first node, group
  Key key(int g) const { return {groups_[at(g)].front(), g}; }

  void free_node(int v) {
    free_[at(group_[at(v)])].push(v);
    begins_.insert(key(group_[at(v)]));
  }

  void take(int g) {
    std::vector<int> piece;
    for (auto& free = free_[at(g)]; !free.empty();) {
      const int v = free.top();
      free.pop();
      piece.push_back(v);
      for (int w : dag_.after[at(v)]) {
        if (--missing_[at(w)] == 0) free_node(w);
        const int to = group_[at(w)];
        if (to != g && --waits_[at(to)] == 0) ready_groups_.insert(key(to));
      }
    }
    begins_.erase(key(g));
    ready_groups_.erase(key(g));
    taken_.push_back(std::move(piece));
  }

  const Dag& dag_;
  const Groups& groups_;
  const std::vector<int> group_;
  std::vector<int> missing_;  // per node: number of predecessors that are not done
  std::vector<int> waits_;    // per group: number of these predecessors that are in other groups
  std::vector<std::priority_queue<int, std::vector<int>, std::greater<>>> free_;
  std::set<Key> ready_groups_, begins_;
  Groups taken_;
};

}  // namespace

Dag make_dag(int n, std::vector<std::pair<int, int>> edges) {
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  Dag dag;
  dag.before.resize(at(n));
  dag.after.resize(at(n));
  for (const auto& [from, to] : edges) {
    GCG_CHECK(from < to, "an edge runs against the order");
    dag.before[at(to)].push_back(from);
    dag.after[at(from)].push_back(to);
  }
  return dag;
}

std::vector<int> group_of(const Dag& dag, const Groups& groups) {
  std::vector<int> group(at(dag.size()), -1);
  for (size_t g = 0; g < groups.size(); ++g)
    for (int v : groups[g]) {
      GCG_CHECK(group[at(v)] < 0, "a node is in two groups");
      group[at(v)] = static_cast<int>(g);
    }
  GCG_CHECK(std::find(group.begin(), group.end(), -1) == group.end(), "a node is in no group");
  return group;
}

std::vector<int> find_circle(const Dag& dag, const Groups& groups) {
  const std::vector<int> group = group_of(dag, groups);
  std::vector<std::set<int>> before(groups.size()), after(groups.size());
  for (int v = 0; v < dag.size(); ++v)
    for (int u : dag.before[at(v)])
      if (group[at(u)] != group[at(v)]) {
        before[at(group[at(v)])].insert(group[at(u)]);
        after[at(group[at(u)])].insert(group[at(v)]);
      }
  std::vector<int> missing, ready;
  for (size_t g = 0; g < groups.size(); ++g) {
    missing.push_back(static_cast<int>(before[g].size()));
    if (missing[g] == 0) ready.push_back(static_cast<int>(g));
  }
  for (size_t i = 0; i < ready.size(); ++i)
    for (int to : after[at(ready[i])])
      if (--missing[at(to)] == 0) ready.push_back(to);
  if (ready.size() == groups.size()) return {};
  // Every remaining group has a remaining predecessor, so a walk backwards meets a group twice.
  std::vector<int> path;
  auto g =
      static_cast<int>(std::find_if(missing.begin(), missing.end(), [](int m) { return m > 0; }) - missing.begin());
  while (std::find(path.begin(), path.end(), g) == path.end()) {
    path.push_back(g);
    g = *std::find_if(before[at(g)].begin(), before[at(g)].end(), [&](int b) { return missing[at(b)] > 0; });
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), g));
  std::reverse(path.begin(), path.end());
  return path;
}

Groups ordered(const Dag& dag, const Groups& groups) { return Walk(dag, groups).run(); }

Dag contracted(const Dag& dag, const Groups& groups) {
  const std::vector<int> group = group_of(dag, groups);
  std::vector<std::pair<int, int>> edges;
  for (int v = 0; v < dag.size(); ++v)
    for (int u : dag.before[at(v)])
      if (group[at(u)] != group[at(v)]) edges.emplace_back(group[at(u)], group[at(v)]);
  return make_dag(static_cast<int>(groups.size()), std::move(edges));
}

}  // namespace gcg
