// A cut divides a graph's nodes into groups. One device runs a group.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/fleet/fleet.h"
#include "compiler/ir/graph.h"
#include "compiler/support/unmatched_request.h"

namespace gcg {

struct Group {
  std::string name;           // a label, or "g0: first..last" by names of nodes; unique in its cut
  std::vector<NodeId> nodes;  // in topological order
  std::vector<int> support;   // devices of the fleet that can run all its nodes, ascending; never empty
};

/// Every live node is in one group. The graph contracted to its groups has no cycle, and the groups are in topological
/// order.
struct Cut {
  std::vector<Group> groups;
  std::string rules;  // the rules that made the cut, as written for --cut: "support,chains"
};

/// Rules by which a graph is cut. Labels come first and override all rules.
enum class CutRule : uint8_t {
  support,  // groups nodes that the same devices run
  fewest,   // the same, with as few groups as possible
  chains,   // divides groups into the fewest chains of nodes
  stages,   // divides groups into pieces of similar work, several for each device; joins small neighbours
  shared,   // keeps the readers of one value together
};

/// "support,chains,shared". Throws CompileError.
std::vector<CutRule> parse_cut_rules(const std::string& text);
std::string print_cut_rules(const std::vector<CutRule>& rules);

/// The devices that `name` in "--assign PATTERN=name" denotes: the device with that name, or all devices of that kind
/// (cpu, cuda). Ascending.
std::vector<int> devices_called(const Fleet& fleet, const std::string& name);

/// A request for the nodes whose name or operator matches the pattern (* matches any characters, ? matches one).
/// `request` is the group of "--label PATTERN=GROUP", or the device or kind of devices of "--assign PATTERN=DEVICE".
struct NodeRequest {
  std::string pattern, request;
  std::string option;  // the origin of the request, for messages: "--label", "--assign", "gart.group" or "gart.device"
  std::string text() const { return pattern + "=" + request; }
};
/// `option` is the option's name in messages. Throws CompileError.
NodeRequest parse_node_request(const std::string& option, const std::string& text);

struct CutOptions {
  std::vector<CutRule> rules;                    // empty: default_rules for the fleet
  std::vector<NodeRequest> labels, assignments;  // --label, --assign
  std::optional<DeviceClass> others;             // preferred kind of device for nodes without an assignment
  std::vector<std::pair<NodeId, NodeId>>
      in_order;  // pairs of nodes: the first reads a state that the second writes, so it runs before
  /// The devices of the groups that the same options make without `placed`. Groups on one device are joined, except
  /// labelled groups and groups with so much work that a later placement may move them to another device.
  std::vector<int> placed;
  /// Joined groups are divided again by by_crossings, so that nodes wait only for the devices that they need.
  bool divide_joined = false;
};

/// The user's requests for nodes of the model, by the names and operators of the imported model. Nodes are found by
/// name after passes, because passes that rewrite a node keep its name.
class NodeRequests {
 public:
  NodeRequests() = default;
  /// If several patterns match, the last one counts. A request for a node with subgraphs applies to all nodes in them.
  /// Throws CompileError for a pattern that matches nothing and for a device that the fleet lacks.
  NodeRequests(const Graph& model, const Fleet& fleet, const CutOptions& options);

  /// The node's label; empty: none.
  const std::string& label(const Node& node) const;
  /// The devices that may run the node, ascending; empty: any device. `request` receives the assignment that limits
  /// them.
  const std::vector<int>& devices(const Node& node, std::string* request = nullptr) const;
  /// The requests without effect. All nodes of such a request are missing in `graph` (after model passes), or all lie
  /// in subgraphs (labels only). If, Loop and Scan run on one device together with their subgraphs. Throws CompileError
  /// for an assignment whose nodes all lie in subgraphs.
  std::vector<UnmatchedRequest> without_effect(const Graph& graph) const;
  /// True if the node is derived from a model node whose name is unique.
  bool is_one(const Node& node) const;
  /// The operator that the node had in the model; null: no node of the model has this name.
  const OpDef* imported_as(const Node& node) const;

 private:
  struct Request {
    NodeRequest label, assignment;  // each is empty if there is no such request
    std::vector<int> devices;
    const OpDef* op = nullptr;
    int nodes = 0;  // number of model nodes with this name
  };
  std::map<std::string, Request> by_node_;
};

/// Only `support` if there is at most one device of each kind, because then no placement has a choice. Otherwise
/// support,chains,stages: parallel chains are separated, long chains are divided for a pipeline, and small chains stay
/// together.
std::vector<CutRule> default_rules(const Fleet& fleet);

/// `graph`: after model passes. All nodes derived from one model node stay in one group, unless this would make a cycle
/// or no device runs them all. Throws CompileError for a node that no device of the fleet runs, with each device's
/// reason, and for labels that make a cycle.
Cut cut_graph(const Graph& graph, const Fleet& fleet, const CutOptions& options = {},
              const NodeRequests& requests = {});

/// One line per group: name, devices, nodes.
std::string print_cut(const Graph& graph, const Fleet& fleet, const Cut& cut);

}  // namespace gcg
