// What has to be done for what is wanted: of a graph's nodes, an assembly's calls, a deferred graph.
#pragma once

#include <cstddef>
#include <vector>

namespace gcg {

/// Breadth first from `wanted` backwards, over what is not done: every item that has to be done, once, wanted ones
/// first; readers before what they read, but for shorter ways. Items are numbers. done(i): is there already, with all
/// after it; each_before(i, see): calls see(j) for all that i reads. O(V + E) of what it visits, and `marks` makes it
/// so: false for all items, as many as there are, and so again when this returns.
template <class Done, class EachBefore>
std::vector<int> needed(const std::vector<int>& wanted, const Done& done, const EachBefore& each_before,
                        std::vector<bool>& marks) {
  std::vector<int> found;  // a first-in-first-out queue whose front moves
  const auto see = [&](int i) {
    if (marks[static_cast<size_t>(i)] || done(i)) return;
    marks[static_cast<size_t>(i)] = true;
    found.push_back(i);
  };
  for (int i : wanted) see(i);
  for (size_t front = 0; front < found.size(); ++front) each_before(found[front], see);
  for (int i : found) marks[static_cast<size_t>(i)] = false;
  return found;
}

/// The same without marks of the caller's: of `count` items.
template <class Done, class EachBefore>
std::vector<int> needed(int count, const std::vector<int>& wanted, const Done& done, const EachBefore& each_before) {
  std::vector<bool> marks(static_cast<size_t>(count), false);
  return needed(wanted, done, each_before, marks);
}

}  // namespace gcg
