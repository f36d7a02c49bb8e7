#include "compiler/partition/at_kept_values.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

/// A set of kept values, one bit per value.
using KeptSet = std::vector<uint64_t>;

void unite(KeptSet& into, const KeptSet& more) {
  for (size_t i = 0; i < into.size(); ++i) into[i] |= more[i];
}

int size_of(const KeptSet& set) {
  int n = 0;
  for (uint64_t word : set) n += std::popcount(word);
  return n;
}

/// By node: the kept values that need the node, through values that they read or through extents that depend on data.
std::vector<KeptSet> needing(const Graph& graph, const std::vector<ValueId>& kept_values) {
  std::vector<KeptSet> needed_by(static_cast<size_t>(graph.node_count()), KeptSet((kept_values.size() + 63) / 64, 0));
  const auto of = [&](NodeId id) -> KeptSet& { return needed_by[static_cast<size_t>(id.index)]; };
  const std::vector<NodeId> order = graph.order();
  std::map<std::string, NodeId> makers;
  for (NodeId id : order)
    for (const std::string& s : graph.node(id).strings_attribute(kSymbolsAttribute)) makers.emplace(s, id);
  for (size_t k = 0; k < kept_values.size(); ++k)
    if (const NodeId maker = graph.value(kept_values[k]).producer; maker.valid())
      of(maker)[k / 64] |= uint64_t{1} << (k % 64);
  const auto need_extents = [&](const std::vector<Dim>& dims, NodeId by) {
    for (const Dim& d : dims)
      for (const std::string& s : d.symbols())
        if (const auto maker = makers.find(s); maker != makers.end()) unite(of(maker->second), of(by));
  };
  for (auto id = order.rbegin(); id != order.rend(); ++id)
    for (ValueId v : graph.node(*id).inputs) {
      if (!v.valid()) continue;
      if (graph.value(v).producer.valid()) unite(of(graph.value(v).producer), of(*id));
      if (makers.empty()) continue;
      if (graph.value(v).shape) need_extents(*graph.value(v).shape, *id);
      if (graph.value(v).contents) need_extents(*graph.value(v).contents, *id);
    }
  return needed_by;
}

}  // namespace

std::vector<GroupPiece> at_kept_values(const Graph& graph, const Cut& cut, const std::vector<ValueId>& kept_values) {
  std::vector<GroupPiece> pieces;
  if (kept_values.empty()) {
    for (const Group& g : cut.groups) pieces.push_back({static_cast<int>(pieces.size()), g.nodes});
    return pieces;
  }
  const std::vector<KeptSet> needed_by = needing(graph, kept_values);
  for (size_t g = 0; g < cut.groups.size(); ++g) {
    std::map<KeptSet, std::vector<NodeId>> by_set;
    for (NodeId id : cut.groups[g].nodes) by_set[needed_by[static_cast<size_t>(id.index)]].push_back(id);
    // A kept value that needs a reader of a node also needs the node, so nodes with larger sets come first.
    std::vector<const std::pair<const KeptSet, std::vector<NodeId>>*> sets;
    for (const auto& set : by_set) sets.push_back(&set);
    std::stable_sort(sets.begin(), sets.end(),
                     [](const auto* a, const auto* b) { return size_of(a->first) > size_of(b->first); });
    for (const auto* set : sets) pieces.push_back({static_cast<int>(g), set->second});
  }
  return pieces;
}

}  // namespace gcg
