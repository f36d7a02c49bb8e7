// What wanted values need, cut out of what was recorded.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "tools/lazy/node.h"

namespace gcc_graph::lazy {

/// Nodes in the order in which a walk from the wanted ones meets them, breadth first, backwards. That order depends on
/// the shape of the graph alone, so it is also its name: `form` and `extents` are equal for cuts that one program can
/// run, `form` alone for those that differ in extents. Linear in nodes and edges.
struct Cut {
  std::vector<Node*> nodes;       // to be run, and given ones among them
  std::vector<uint32_t> given;    // positions of those whose value is there
  std::vector<uint32_t> results;  // positions of those whose value is asked for
  std::vector<uint32_t> form;
  std::vector<const Extents*> extents;  // of given ones, and static operands, in order of the walk
  uint32_t runs = 0;                    // nodes to be run

  void clear();
  uint64_t hash() const;
};

/// Walks leave marks in the nodes: one at a time. Whoever makes a cut holds it, and keeps it while the cut is in use.
std::mutex& cut_mutex();

/// `wanted`, and what somebody holds a handle to among what they need. What is computed ends the walk, unless
/// `through`, where what a tape remembers is walked through down to `ends`.
void make_cut(std::span<Node* const> wanted, Cut& cut, bool through = false, std::span<Node* const> ends = {});

/// The positions of nodes to be run, producers first.
std::vector<uint32_t> running_order(const Cut& cut);

}  // namespace gcc_graph::lazy
