// A cut divides a graph's nodes into groups: what one device gets.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/fleet/fleet.h"
#include "compiler/ir/graph.h"

namespace gcg {

struct Group {
  std::string name;           // a label, or "g0: first..last" by names of nodes; unique in its cut
  std::vector<NodeId> nodes;  // in an order of the graph
  std::vector<int> support;   // devices of the fleet that can run all of them, ascending; never empty
};

/// Every live node is in one group; the graph contracted to its groups has no circle, and they stand in an order of it.
struct Cut {
  std::vector<Group> groups;
  std::string rules;  // that made it, as --cut says them: "support,chains"
};

/// How a graph is cut, besides labels, which come first and win over all.
enum class CutRule : uint8_t {
  support,  // nodes that the same devices run
  fewest,   // the same, and as few groups as there can be
  chains,   // the fewest chains of nodes
  stages,   // pieces with about the same work, some for each device; small neighbours are joined
  shared,   // readers of one value stay together
};

/// "support,chains,shared". Throws CompileError.
std::vector<CutRule> parse_cut_rules(const std::string& text);
std::string print_cut_rules(const std::vector<CutRule>& rules);

/// Devices that "--assign PATTERN=name" means: the one of that name, or all of that kind (cpu, cuda). Ascending.
std::vector<int> devices_called(const Fleet& fleet, const std::string& name);

/// Nodes whose name or operator matches the pattern (* and ? stand for any characters and one): of "--label
/// PATTERN=GROUP" the group, of "--assign PATTERN=DEVICE" a device or a kind of devices.
struct NodeWish {
  std::string pattern, wish;
};
/// `option` is what messages name. Throws CompileError.
NodeWish parse_node_wish(const std::string& option, const std::string& text);

struct CutOptions {
  std::vector<CutRule> rules;                       // empty: what the fleet asks for (default_rules)
  std::vector<NodeWish> labels, assignments;        // --label, --assign
  std::optional<DeviceClass> others;                // nodes without an assignment go there, if such devices run them
  std::vector<std::pair<NodeId, NodeId>> in_order;  // the first before the second: reads a state that that one writes
};

/// What the user says about nodes of the model by name and operator, as they are when it is imported. Nodes are found
/// again by name: one that passes rewrite keeps the name that it had.
class NodeWishes {
 public:
  NodeWishes() = default;
  /// Of several patterns that match the last one counts. A node with bodies takes all nodes in them along. Throws
  /// CompileError for a pattern that matches nothing and a device that the fleet lacks.
  NodeWishes(const Graph& model, const Fleet& fleet, const CutOptions& options);

  /// Empty: none.
  const std::string& label(const Node& node) const;
  /// The devices that the node must go to, ascending; empty: to any. `wish` gets what said so.
  const std::vector<int>& devices(const Node& node, std::string* wish = nullptr) const;
  /// The assignments whose nodes have all gone from the graph, as model passes leave it, each with one of those. Throws
  /// CompileError for one whose nodes are all in bodies: If, Loop and Scan are on one device with what they hold.
  std::map<std::string, std::string> without_effect(const Graph& graph) const;
  /// Does the node stem from one of the model that shares its name with no other?
  bool is_one(const Node& node) const;
  /// The operator that it had in the model; null: it has none of its own.
  const OpDef* imported_as(const Node& node) const;

 private:
  struct Wish {
    std::string label, assignment;
    std::vector<int> devices;
    const OpDef* op = nullptr;
    int nodes = 0;  // of the model, with this name
  };
  std::map<std::string, Wish> by_node_;
};

/// support alone, where there is nothing to place: one device of each kind. Else support,chains,stages: what can run
/// beside each other comes apart, what is long is divided for a pipeline, and what is small stays together.
std::vector<CutRule> default_rules(const Fleet& fleet);

/// `graph`: as model passes leave it. Nodes that one of the model became stay together, unless that made a circle or no
/// device ran them all. Throws CompileError for a node that no device of the fleet runs, with what each
/// device says, and for labels that make a circle.
Cut cut_graph(const Graph& graph, const Fleet& fleet, const CutOptions& options = {}, const NodeWishes& wishes = {});

/// A line per group: name, devices, nodes.
std::string print_cut(const Graph& graph, const Fleet& fleet, const Cut& cut);

}  // namespace gcg
