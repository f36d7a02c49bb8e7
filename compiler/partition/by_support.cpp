// A walk takes all ready nodes of one class (a step), then all ready nodes of another class, and so on. With two
// classes, the only choice is the class of the first step. The steps are then the levels of the graph: level(v) = the
// most changes of class on a path to v. With more classes the problem is the shortest common supersequence, which is
// NP-hard. The walk then continues with the class that has the longest remaining path.
#include "compiler/partition/by_support.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>

#include "compiler/support/error.h"

namespace gcg {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }

enum class Choice : uint8_t { longest_way, most_ready };

/// The most changes of class on a path from each node to an end.
std::vector<int> changes_left(const Dag& dag, const std::vector<int>& classes) {
  std::vector<int> left(classes.size(), 0);
  for (int v = dag.size() - 1; v >= 0; --v)
    for (int w : dag.after[at(v)])
      left[at(v)] = std::max(left[at(v)], left[at(w)] + (classes[at(v)] != classes[at(w)]));
  return left;
}

class Steps {
 public:
  Steps(const Dag& dag, const std::vector<int>& classes, const std::vector<int>& left, int class_count, Choice choice)
      : dag_(dag), classes_(classes), left_(left), choice_(choice), ready_(at(class_count)) {}

  /// Begins with class `first`, or with the class that the heuristic chooses (-1).
  Groups run(int first) {
    std::vector<int> missing;
    for (const auto& before : dag_.before) missing.push_back(static_cast<int>(before.size()));
    for (int v = 0; v < dag_.size(); ++v)
      if (missing[at(v)] == 0) push(v);
    Groups steps;
    for (int c = first; c >= 0 || (c = next_class()) >= 0; c = -1) {
      std::vector<int> step;
      while (!ready_[at(c)].empty()) {
        const int v = ready_[at(c)].top().second;
        ready_[at(c)].pop();
        step.push_back(v);
        for (int w : dag_.after[at(v)])
          if (--missing[at(w)] == 0) push(w);
      }
      std::sort(step.begin(), step.end());
      if (!step.empty()) steps.push_back(std::move(step));
    }
    return steps;
  }

 private:
  void push(int v) { ready_[at(classes_[at(v)])].emplace(left_[at(v)], v); }

  int next_class() const {
    int best = -1;
    std::pair<size_t, size_t> best_score;
    for (size_t c = 0; c < ready_.size(); ++c) {
      if (ready_[c].empty()) continue;
      const auto way = at(ready_[c].top().first);
      const std::pair<size_t, size_t> score =
          choice_ == Choice::longest_way ? std::pair(way, ready_[c].size()) : std::pair(ready_[c].size(), way);
      if (best < 0 || score > best_score) {
        best = static_cast<int>(c);
        best_score = score;
      }
    }
    return best;
  }

  const Dag& dag_;
  const std::vector<int>& classes_;
  const std::vector<int>& left_;
  const Choice choice_;
  std::vector<std::priority_queue<std::pair<int, int>>> ready_;  // by class: (changes left, node)
};

/// Moves each component of a step that can wait at no cost to the step of its readers; the last steps are handled
/// first.
class Settle {
 public:
  Settle(const Dag& dag, const std::vector<int>& classes, const Groups& steps)
      : dag_(dag), classes_(classes), steps_(steps), step_(group_of(dag, steps)) {
    by_class_.resize(at(*std::max_element(classes.begin(), classes.end())) + 1);
    for (size_t s = 0; s < steps.size(); ++s)
      by_class_[at(classes[at(steps[s].front())])].push_back(static_cast<int>(s));
  }

  Groups run() {
    component_.resize(classes_.size());
    for (size_t s = steps_.size(); s-- > 0;)
      for (const std::vector<int>& component : components(steps_[s])) settle(component);
    Groups settled(steps_.size());
    for (int v = 0; v < dag_.size(); ++v) settled[at(step_[at(v)])].push_back(v);
    return joined(settled);
  }

 private:
  Groups components(const std::vector<int>& step) {
    for (int v : step) component_[at(v)] = v;
    for (int v : step)
      for (int u : dag_.before[at(v)])
        if (step_[at(u)] == step_[at(v)] && classes_[at(u)] == classes_[at(v)]) component_[at(root(u))] = root(v);
    std::vector<std::pair<int, int>> by_root;
    for (int v : step) by_root.emplace_back(root(v), v);
    std::sort(by_root.begin(), by_root.end());
    Groups all;
    for (size_t i = 0; i < by_root.size(); ++i) {
      if (i == 0 || by_root[i].first != by_root[i - 1].first) all.emplace_back();
      all.back().push_back(by_root[i].second);
    }
    return all;
  }

  int root(int v) {
    while (component_[at(v)] != v) v = component_[at(v)] = component_[at(component_[at(v)])];
    return v;
  }

  /// Moves the component to the latest step that its readers allow, if a reader is there.
  void settle(const std::vector<int>& component) {
    const int own = step_[at(component.front())], kind = classes_[at(component.front())];
    std::optional<int> latest, joins;
    for (int v : component)
      for (int w : dag_.after[at(v)]) {
        if (step_[at(w)] == own) continue;  // the reader is itself a node of the component
        const bool same = classes_[at(w)] == kind;
        const int bound = step_[at(w)] - !same;
        if (!latest || bound < *latest) latest = bound;
        if (same && (!joins || step_[at(w)] < *joins)) joins = step_[at(w)];
      }
    if (!latest || !joins || *joins != *latest) return;
    for (int v : component) step_[at(v)] = *joins;
  }

  /// Removes empty steps, and merges neighbouring steps of one class.
  Groups joined(const Groups& steps) const {
    Groups out;
    for (const std::vector<int>& step : steps) {
      if (step.empty()) continue;
      if (out.empty() || classes_[at(out.back().front())] != classes_[at(step.front())])
        out.push_back(step);
      else
        out.back().insert(out.back().end(), step.begin(), step.end());
    }
    for (std::vector<int>& group : out) std::sort(group.begin(), group.end());
    return out;
  }

  const Dag& dag_;
  const std::vector<int>& classes_;
  const Groups& steps_;
  std::vector<int> step_, component_;
  Groups by_class_;
};

}  // namespace

Groups runs_of(const std::vector<int>& classes) {
  Groups runs;
  for (size_t v = 0; v < classes.size(); ++v) {
    if (v == 0 || classes[v] != classes[v - 1]) runs.emplace_back();
    runs.back().push_back(static_cast<int>(v));
  }
  return runs;
}

Groups by_support(const Dag& dag, const std::vector<int>& classes, bool thorough) {
  if (classes.empty()) return {};
  const std::vector<int> left = changes_left(dag, classes);
  const int count = *std::max_element(classes.begin(), classes.end()) + 1;
  std::vector<int> starts = {-1};
  if (count == 2 || (thorough && count <= 64)) {
    starts.resize(at(count));
    std::iota(starts.begin(), starts.end(), 0);
  }
  Groups best = runs_of(classes);
  for (const Choice choice : {Choice::longest_way, Choice::most_ready}) {
    if (choice == Choice::most_ready && (count <= 2 || !thorough)) break;
    for (int first : starts) {
      Groups steps = Steps(dag, classes, left, count, choice).run(first);
      if (steps.size() <= best.size()) best = std::move(steps);
    }
  }
  return Settle(dag, classes, best).run();
}

}  // namespace gcg
