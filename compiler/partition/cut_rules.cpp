// Parses and prints the rules and requests of the command line.
#include <algorithm>

#include "compiler/kernel/device_traits.h"
#include "compiler/partition/cut.h"
#include "compiler/partition/runs_on.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

struct NamedRule {
  const char* name;
  CutRule rule;
};
constexpr NamedRule kRules[] = {{"support", CutRule::support},
                                {"fewest", CutRule::fewest},
                                {"stages", CutRule::stages},
                                {"chains", CutRule::chains},
                                {"shared", CutRule::shared}};

/// Calls f for every node of the graph and of its subgraphs, with f's result for the enclosing node.
template <class F>
void each_node(const Graph& graph, bool around, const F& f) {
  for (NodeId id : graph.order()) {
    const bool said = f(graph.node(id), around);
    for (const auto& body : graph.node(id).bodies) each_node(*body, said, f);
  }
}

std::string names_of(const Fleet& fleet) {
  std::string names;
  for (const FleetDevice& d : fleet.devices) names += concat(names.empty() ? "'" : ", '", d.name, "'");
  return names;
}

}  // namespace

std::vector<int> devices_called(const Fleet& fleet, const std::string& name) {
  std::vector<int> found;
  for (size_t d = 0; d < fleet.devices.size(); ++d)
    if (fleet.devices[d].name == name) return {static_cast<int>(d)};
  for (size_t d = 0; d < fleet.devices.size(); ++d)
    if (traits_of(fleet.devices[d].kind).kind == name) found.push_back(static_cast<int>(d));
  return found;
}

std::vector<CutRule> parse_cut_rules(const std::string& text) {
  std::vector<CutRule> rules;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    begin = end + 1;
    if (name == "labels") continue;  // labels always count
    const auto* known =
        std::find_if(std::begin(kRules), std::end(kRules), [&](const auto& r) { return name == r.name; });
    if (known == std::end(kRules))
      fail("--cut '", text, "': there is no rule '", name,
           "'; expected support, fewest, stages, chains, shared, labels");
    if (std::find(rules.begin(), rules.end(), known->rule) != rules.end())
      fail("--cut '", text, "' names '", name, "' twice");
    rules.push_back(known->rule);
  }
  if (rules.empty()) rules.push_back(CutRule::support);  // only "labels" was given
  return rules;
}

std::string print_cut_rules(const std::vector<CutRule>& rules) {
  std::string text;
  for (CutRule rule : rules) {
    const auto* known =
        std::find_if(std::begin(kRules), std::end(kRules), [&](const auto& r) { return rule == r.rule; });
    text += concat(text.empty() ? "" : ",", known->name);
  }
  return text;
}

NodeWish parse_node_wish(const std::string& option, const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    fail(option, " '", text, "' is not PATTERN=", option == "--label" ? "GROUP" : "DEVICE");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

NodeWishes::NodeWishes(const Graph& model, const Fleet& fleet, const CutOptions& options) {
  each_node(model, false, [&](const Node& n, bool) {
    Wish& wish = by_node_[n.name];
    wish.op = n.op;
    ++wish.nodes;
    return false;
  });
  const auto apply = [&](const char* option, const NodeWish& w, const auto& set) {
    bool any = false;
    each_node(model, false, [&](const Node& n, bool around) {
      const bool mine = around || fits_pattern(w.pattern, n.name) || fits_pattern(w.pattern, operator_name(*n.op));
      if (mine) set(by_node_[n.name]);
      any |= mine;
      return mine;
    });
    if (!any) fail(option, " '", w.pattern, "=", w.wish, "': no node has a matching name or operator");
  };
  for (const NodeWish& w : options.labels) apply("--label", w, [&](Wish& wish) { wish.label = w.wish; });
  for (const NodeWish& w : options.assignments) {
    const std::vector<int> devices = devices_called(fleet, w.wish);
    if (devices.empty())
      fail("--assign '", w.pattern, "=", w.wish, "': the fleet has no such device or kind of devices; it has ",
           names_of(fleet));
    apply("--assign", w, [&](Wish& wish) {
      wish.devices = devices;
      wish.assignment = w.pattern + "=" + w.wish;
    });
  }
}

const std::string& NodeWishes::label(const Node& node) const {
  static const std::string none;
  const auto it = by_node_.find(node.name);
  return it == by_node_.end() ? none : it->second.label;
}

const std::vector<int>& NodeWishes::devices(const Node& node, std::string* wish) const {
  static const std::vector<int> any;
  const auto it = by_node_.find(node.name);
  if (it != by_node_.end() && wish != nullptr) *wish = it->second.assignment;
  return it == by_node_.end() ? any : it->second.devices;
}

std::map<std::string, std::string> NodeWishes::without_effect(const Graph& graph) const {
  std::map<std::string, std::string> left;
  for (const auto& [node, wish] : by_node_)
    if (!wish.assignment.empty()) left.emplace(wish.assignment, node);
  const auto assignment_of = [&](const Node& node) {
    const auto it = by_node_.find(node.name);
    return it == by_node_.end() ? std::string() : it->second.assignment;
  };
  for (NodeId id : graph.order()) left.erase(assignment_of(graph.node(id)));
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies)
      each_node(*body, false, [&](const Node& n, bool) {
        if (left.count(assignment_of(n)) != 0)
          fail("--assign '", assignment_of(n), "': node '", n.name, "' is in a body of '", graph.node(id).name, "' (",
               operator_name(*graph.node(id).op), "), which runs on one device with all its bodies: assign that node");
        return false;
      });
  return left;
}

bool NodeWishes::is_one(const Node& node) const {
  const auto it = by_node_.find(node.name);
  return it != by_node_.end() && it->second.nodes == 1;
}

const OpDef* NodeWishes::imported_as(const Node& node) const {
  const auto it = by_node_.find(node.name);
  return it == by_node_.end() ? nullptr : it->second.op;
}

}  // namespace gcg
