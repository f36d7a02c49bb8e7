// What has to be done for what is wanted: of a graph's nodes, an assembly's calls, a deferred graph.
#pragma once

#include <cstddef>
#include <vector>

namespace gcg {

/// Breadth first from what stands in `found` backwards: `found` is a first-in-first-out queue whose front moves, so it
/// ends up as every item that was met, in order: readers before what they read, but for shorter ways.
/// each_before(item, see): calls see(other) for what the item reads, nothing for one that ends the walk; claim(other):
/// is met for the first time. O(V + E) of what is met; nothing recurses.
template <class Item, class Claim, class EachBefore>
void walk_backwards(std::vector<Item>& found, const Claim& claim, const EachBefore& each_before) {
  const auto see = [&](const Item& item) {
    if (claim(item)) found.push_back(item);
  };
  for (size_t front = 0; front < found.size(); ++front) each_before(Item(found[front]), see);
}

/// Every item that has to be done, once, wanted ones first. Items are numbers. done(i): is there already, with all
/// after it; each_before(i, see): calls see(j) for all that i reads. `marks`: false for all items, as many as there
/// are, and so again when this returns.
template <class Done, class EachBefore>
std::vector<int> needed(const std::vector<int>& wanted, const Done& done, const EachBefore& each_before,
                        std::vector<bool>& marks) {
  std::vector<int> found;
  const auto claim = [&](int i) {
    if (marks[static_cast<size_t>(i)] || done(i)) return false;
    marks[static_cast<size_t>(i)] = true;
    return true;
  };
  for (int i : wanted)
    if (claim(i)) found.push_back(i);
  walk_backwards(found, claim, each_before);
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
