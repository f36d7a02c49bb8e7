#include "compiler/partition/stages.h"

#include <algorithm>
#include <cmath>

namespace gcg {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }

constexpr double kRoom = 1.1;  // allows slightly larger pieces, because a tiny group costs more

double work_of(const std::vector<int>& nodes, const std::vector<NodeLoad>& loads) {
  double sum = 0;
  for (int v : nodes) sum += loads[at(v)].work;
  return sum;
}

/// Live bytes after each node of the group: values made in the group and read later in it.
std::vector<double> crossing(const Dag& dag, const std::vector<int>& nodes, const std::vector<int>& group, int own,
                             const std::vector<NodeLoad>& loads) {
  std::vector<double> change(nodes.size() + 1, 0);
  std::vector<int> last;
  for (size_t i = 0; i < nodes.size(); ++i) {
    size_t end = i;
    for (int w : dag.after[at(nodes[i])])
      if (group[at(w)] == own)
        end = std::max(end, static_cast<size_t>(std::lower_bound(nodes.begin(), nodes.end(), w) - nodes.begin()));
    change[i] += loads[at(nodes[i])].bytes * (end > i);
    change[end] -= loads[at(nodes[i])].bytes * (end > i);
  }
  for (size_t i = 1; i < change.size(); ++i) change[i] += change[i - 1];
  return change;
}

/// Divides into `pieces`. Each cut is within a quarter of a piece's work of the point that makes all pieces equal.
void divide(const std::vector<int>& nodes, int pieces, const std::vector<double>& alive,
            const std::vector<NodeLoad>& loads, double work, Groups& out) {
  const double piece = work / pieces;
  std::vector<double> done(nodes.size());
  double sum = 0;
  for (size_t i = 0; i < nodes.size(); ++i) done[i] = sum += loads[at(nodes[i])].work;
  size_t begin = 0;
  for (int k = 1; k < pieces; ++k) {
    const auto first =
        static_cast<size_t>(std::lower_bound(done.begin(), done.end(), (k - 0.25) * piece) - done.begin());
    size_t best = std::max(begin, first);
    for (size_t i = best; i + 1 < nodes.size() && done[i] <= (k + 0.25) * piece; ++i)
      if (alive[i] < alive[best]) best = i;
    if (best + 1 >= nodes.size()) break;
    out.emplace_back(nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                     nodes.begin() + static_cast<std::ptrdiff_t>(best + 1));
    begin = best + 1;
  }
  out.emplace_back(nodes.begin() + static_cast<std::ptrdiff_t>(begin), nodes.end());
}

}  // namespace

Groups stages(const Dag& dag, const Groups& groups, const std::vector<int>& classes, const std::vector<NodeLoad>& loads,
              const std::vector<double>& piece) {
  const std::vector<int> group = group_of(dag, groups);
  Groups divided;
  for (size_t g = 0; g < groups.size(); ++g) {
    const double work = work_of(groups[g], loads), most = piece[at(classes[at(groups[g].front())])];
    const int pieces = static_cast<int>(std::lround(work / most));
    if (pieces < 2)
      divided.push_back(groups[g]);
    else
      divide(groups[g], pieces, crossing(dag, groups[g], group, static_cast<int>(g), loads), loads, work, divided);
  }
  divided = ordered(dag, divided);
  Groups joined;
  double sum = 0;
  for (std::vector<int>& nodes : divided) {
    const double work = work_of(nodes, loads);
    const int kind = classes[at(nodes.front())];
    const bool joins =
        !joined.empty() && classes[at(joined.back().front())] == kind && sum + work <= kRoom * piece[at(kind)];
    sum = joins ? sum + work : work;
    if (!joins) joined.emplace_back();
    joined.back().insert(joined.back().end(), nodes.begin(), nodes.end());
  }
  for (std::vector<int>& nodes : joined) std::sort(nodes.begin(), nodes.end());
  return joined;
}

}  // namespace gcg
