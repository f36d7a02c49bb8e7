// Cuts the subgraph that wanted values need out of the recorded graph.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "tools/lazy/node.h"

namespace gcc_graph::lazy {

/// Nodes in breadth-first order of a walk backwards from the wanted nodes. The order depends only on the shape of the
/// graph, so the lists below identify the cut. One program can run all cuts with equal `structure` and `extents`; cuts
/// with equal `structure` alone differ in extents. The cost is linear in nodes and edges.
struct Cut {
  std::vector<Node*> nodes;         // nodes to run, and nodes that have a value
  std::vector<uint32_t> evaluated;  // positions of nodes that have a value
  std::vector<uint32_t> results;    // positions of nodes whose value is wanted
  std::vector<uint32_t> structure;
  std::vector<const Extents*> extents;  // extents of evaluated nodes, and static operands, in the order of the walk
  uint32_t runs = 0;                    // number of nodes to run

  void clear();
  uint64_t hash() const;
};

/// Walks mark the nodes, so only one walk may run at a time. A caller that makes a cut must hold this mutex until the
/// cut is no longer in use.
std::mutex& cut_mutex();

/// The results of the cut are `requested`, and all values visited by the walk that have handles. The walk stops at
/// computed values. With `through`, it also passes through computed nodes that a tape keeps, down to `ends`.
void make_cut(std::span<Node* const> requested, Cut& cut, bool through = false, std::span<Node* const> ends = {});

/// The positions of the nodes to run, producers first.
std::vector<uint32_t> running_order(const Cut& cut);

}  // namespace gcc_graph::lazy
