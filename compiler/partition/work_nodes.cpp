#include "compiler/partition/work_nodes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>

#include "compiler/ops/op_def.h"
#include "compiler/partition/write_extents.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

using NodePairs = std::vector<std::pair<NodeId, NodeId>>;

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), needed_(graph.outputs.begin(), graph.outputs.end()) {}

  WorkNodes run(const NodePairs& in_order) {
    const std::vector<NodeId> order = graph_.order();
    is_work_.assign(static_cast<size_t>(graph_.node_count()), false);
    for (NodeId id : order) {
      is_work_[static_cast<size_t>(id.index)] = !is_shape_arithmetic(graph_.node(id));
      for (const std::string& s : graph_.node(id).strings_attribute(kSymbolsAttribute)) makers_.emplace(s, id);
    }
    NodePairs edges = in_order;
    WorkNodes found;
    for (NodeId id : order) {
      if (is_work(id))
        add_edges(id, edges);
      else
        found.others.push_back(id);
    }
    sort(order, edges, found);
    std::vector<std::pair<int, int>> by_number;
    for (const auto& [a, b] : edges) by_number.emplace_back(found.number_of(a), found.number_of(b));
    found.dag = make_dag(static_cast<int>(found.nodes.size()), std::move(by_number));
    return found;
  }

 private:
  bool is_work(NodeId id) const { return is_work_[static_cast<size_t>(id.index)]; }

  bool is_shape_arithmetic(const Node& node) const {
    return !node.outputs.empty() && std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) {
      return !v.valid() || (needed_.count(v) == 0 && follows_from_extents(graph_.value(v)));
    });
  }

  void add_edges(NodeId id, NodePairs& edges) const {
    for (ValueId v : graph_.node(id).inputs) {
      if (!v.valid() || !graph_.value(v).producer.valid()) continue;
      const NodeId producer = graph_.value(v).producer;
      if (is_work(producer)) edges.emplace_back(producer, id);
      if (is_work(producer) || makers_.empty()) continue;
      for (const Dim& d : *graph_.value(v).contents)
        for (const std::string& s : d.symbols())
          if (const auto maker = makers_.find(s); maker != makers_.end() && maker->second != id)
            edges.emplace_back(maker->second, id);
    }
  }

  /// Among ready nodes, the least id comes first, as in Graph::order.
  void sort(const std::vector<NodeId>& order, const NodePairs& edges, WorkNodes& found) const {
    std::vector<int> missing(is_work_.size(), 0);
    std::vector<std::vector<NodeId>> after(is_work_.size());
    for (const auto& [a, b] : edges) {
      GCG_CHECK(is_work(a) && is_work(b), "shape arithmetic has an order");
      ++missing[static_cast<size_t>(b.index)];
      after[static_cast<size_t>(a.index)].push_back(b);
    }
    found.number.assign(is_work_.size(), -1);
    std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
    for (NodeId id : order)
      if (is_work(id) && missing[static_cast<size_t>(id.index)] == 0) ready.push(id);
    while (!ready.empty()) {
      const NodeId id = ready.top();
      ready.pop();
      found.number[static_cast<size_t>(id.index)] = static_cast<int>(found.nodes.size());
      found.nodes.push_back(id);
      for (NodeId next : after[static_cast<size_t>(id.index)])
        if (--missing[static_cast<size_t>(next.index)] == 0) ready.push(next);
    }
    for (NodeId id : order)
      if (is_work(id) && missing[static_cast<size_t>(id.index)] > 0)
        fail("node '", graph_.node(id).name, "' must run before and after others: readers of a state must run before ",
             "its writers");
  }

  const Graph& graph_;
  std::set<ValueId> needed_;
  std::vector<bool> is_work_;
  std::map<std::string, NodeId> makers_;  // by symbol that depends on data: the node that determines it
};

}  // namespace

WorkNodes work_nodes(const Graph& graph, const NodePairs& in_order) { return Finder(graph).run(in_order); }

}  // namespace gcg
