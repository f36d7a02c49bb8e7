// Finds the items that the roots need, directly or indirectly: nodes of a graph, calls of an assembly, a deferred
// graph.
#pragma once

#include <cstddef>
#include <vector>

namespace gcg {

/// Walks backwards, breadth first, from the items in `found`. `found` is a queue whose front moves. At the end it
/// contains every item that the walk met, in the order of meeting: readers come before the items they read, except
/// where a shorter path leads to the read item. each_before(item, see): calls see(other) for every item that `item`
/// reads, except items at which the walk ends. claim(other): true if the item is met for the first time. The time is
/// linear in the items met and their edges; there is no recursion.
template <class Item, class Claim, class EachBefore>
void walk_backwards(std::vector<Item>& found, const Claim& claim, const EachBefore& each_before) {
  const auto see = [&](const Item& item) {
    if (claim(item)) found.push_back(item);
  };
  for (size_t front = 0; front < found.size(); ++front) each_before(Item(found[front]), see);
}

/// Every item that has to be done for the roots, once each; the roots come first. Items are numbers. done(i):
/// true if item i is done already. each_before(i, see): calls see(j) for all items j that i reads. `marks`: one entry
/// per item, all false; they are all false again on return.
template <class Done, class EachBefore>
std::vector<int> needed(const std::vector<int>& roots, const Done& done, const EachBefore& each_before,
                        std::vector<bool>& marks) {
  std::vector<int> found;
  const auto claim = [&](int i) {
    if (marks[static_cast<size_t>(i)] || done(i)) return false;
    marks[static_cast<size_t>(i)] = true;
    return true;
  };
  for (int i : roots)
    if (claim(i)) found.push_back(i);
  walk_backwards(found, claim, each_before);
  for (int i : found) marks[static_cast<size_t>(i)] = false;
  return found;
}

/// The same for `count` items, without marks from the caller.
template <class Done, class EachBefore>
std::vector<int> needed(int count, const std::vector<int>& roots, const Done& done, const EachBefore& each_before) {
  std::vector<bool> marks(static_cast<size_t>(count), false);
  return needed(roots, done, each_before, marks);
}

}  // namespace gcg
