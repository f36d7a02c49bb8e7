// Covers n nodes with the fewest paths: n - m, where m is the size of a maximum matching. The matching pairs nodes as
// producers with nodes as readers: no two of its edges leave or enter the same node. Algorithm of Hopcroft and Karp,
// from a good initial matching.
#include "compiler/partition/by_chains.h"

#include <algorithm>

namespace gcg {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }
constexpr int kNone = -1;

class Matching {
 public:
  Matching(const Dag& dag, const std::vector<int>& group)
      : next_(at(dag.size()), kNone), previous_(at(dag.size()), kNone), edges_(at(dag.size())) {
    std::vector<int> path(at(dag.size()), 0);  // nodes on the longest path from here
    for (int v = dag.size() - 1; v >= 0; --v)
      for (int w : dag.after[at(v)]) path[at(v)] = std::max(path[at(v)], path[at(w)] + 1);
    for (int v = 0; v < dag.size(); ++v) {
      for (int w : dag.after[at(v)])
        if (group[at(w)] == group[at(v)]) edges_[at(v)].push_back(w);
      std::sort(edges_[at(v)].begin(), edges_[at(v)].end(),
                [&](int a, int b) { return std::pair(path[at(a)], a) > std::pair(path[at(b)], b); });
      for (int w : edges_[at(v)])
        if (previous_[at(w)] == kNone) {
          match(v, w);
          break;
        }
    }
    while (measure())
      for (int v = 0; v < dag.size(); ++v)
        if (next_[at(v)] == kNone) augment(v);
  }

  int next(int v) const { return next_[at(v)]; }
  bool begins(int v) const { return previous_[at(v)] == kNone; }

 private:
  void match(int v, int w) {
    next_[at(v)] = w;
    previous_[at(w)] = v;
  }

  /// Distances from unmatched nodes, over alternating paths. True if one of these paths ends in a free node.
  bool measure() {
    distance_.assign(next_.size(), kNone);
    tried_.assign(next_.size(), 0);
    std::vector<int> queue;
    for (size_t v = 0; v < next_.size(); ++v)
      if (next_[v] == kNone) {
        distance_[v] = 0;
        queue.push_back(static_cast<int>(v));
      }
    bool free = false;
    for (size_t i = 0; i < queue.size(); ++i)
      for (int w : edges_[at(queue[i])]) {
        const int v = previous_[at(w)];
        free |= v == kNone;
        if (v == kNone || distance_[at(v)] != kNone) continue;
        distance_[at(v)] = distance_[at(queue[i])] + 1;
        queue.push_back(v);
      }
    return free;
  }

  void augment(int start) {
    std::vector<int> path = {start};
    while (!path.empty()) {
      const int v = path.back();
      if (tried_[at(v)] == edges_[at(v)].size()) {
        path.pop_back();
        continue;
      }
      const int w = edges_[at(v)][tried_[at(v)]++], u = previous_[at(w)];
      if (u == kNone) return swap_matches(path);
      if (distance_[at(u)] == distance_[at(v)] + 1) path.push_back(u);
    }
  }

  /// Each node on the path takes the edge that it tried last. Its previous partner has become the partner of the next
  /// node on the path.
  void swap_matches(const std::vector<int>& path) {
    for (size_t i = path.size(); i-- > 0;) match(path[i], edges_[at(path[i])][tried_[at(path[i])] - 1]);
  }

  std::vector<int> next_, previous_;
  std::vector<std::vector<int>> edges_;
  std::vector<int> distance_;
  std::vector<size_t> tried_;
};

}  // namespace

Groups by_chains(const Dag& dag, const Groups& groups) {
  const Matching matching(dag, group_of(dag, groups));
  Groups chains;
  for (int v = 0; v < dag.size(); ++v) {
    if (!matching.begins(v)) continue;
    chains.emplace_back();
    for (int w = v; w != kNone; w = matching.next(w)) chains.back().push_back(w);
  }
  return ordered(dag, chains);
}

}  // namespace gcg
