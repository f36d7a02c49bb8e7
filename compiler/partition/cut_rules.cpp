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

NodeRequest parse_node_request(const std::string& option, const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    fail(option, " '", text, "' is not PATTERN=", option == "--label" ? "GROUP" : "DEVICE");
  return {text.substr(0, equals), text.substr(equals + 1), option};
}

NodeRequests::NodeRequests(const Graph& model, const Fleet& fleet, const CutOptions& options) {
  each_node(model, false, [&](const Node& n, bool) {
    Request& request = by_node_[n.name];
    request.op = n.op;
    ++request.nodes;
    return false;
  });
  const auto apply = [&](const NodeRequest& w, const auto& set) {
    bool any = false;
    each_node(model, false, [&](const Node& n, bool around) {
      const bool matches = around || fits_pattern(w.pattern, n.name) || fits_pattern(w.pattern, operator_name(*n.op));
      if (matches) set(by_node_[n.name]);
      any |= matches;
      return matches;
    });
    if (!any) fail(w.option, " '", w.text(), "': no node has a matching name or operator");
  };
  for (const NodeRequest& w : options.labels) apply(w, [&](Request& request) { request.label = w; });
  for (const NodeRequest& w : options.assignments) {
    const std::vector<int> devices = devices_called(fleet, w.request);
    if (devices.empty())
      fail(w.option, " '", w.text(), "': the fleet has no such device or kind of devices; it has ", names_of(fleet));
    apply(w, [&](Request& request) {
      request.devices = devices;
      request.assignment = w;
    });
  }
}

const std::string& NodeRequests::label(const Node& node) const {
  static const std::string none;
  const auto it = by_node_.find(node.name);
  return it == by_node_.end() ? none : it->second.label.request;
}

const std::vector<int>& NodeRequests::devices(const Node& node, std::string* request) const {
  static const std::vector<int> any;
  const auto it = by_node_.find(node.name);
  if (it != by_node_.end() && request != nullptr)
    *request = it->second.assignment.request.empty() ? "" : it->second.assignment.text();
  return it == by_node_.end() ? any : it->second.devices;
}

std::vector<UnmatchedRequest> NodeRequests::without_effect(const Graph& graph) const {
  using Key = std::pair<std::string, std::string>;  // option, text
  const auto key = [](const NodeRequest& w) { return Key{w.option, w.text()}; };
  std::map<Key, std::string> left;  // maps a key to one of its nodes
  for (const auto& [node, request] : by_node_)
    for (const NodeRequest* w : {&request.assignment, &request.label})
      if (!w->request.empty()) left.emplace(key(*w), node);
  const auto each_request = [&](const Node& node, const auto& f) {
    const auto it = by_node_.find(node.name);
    if (it == by_node_.end()) return;
    for (const NodeRequest* w : {&it->second.assignment, &it->second.label})
      if (left.count(key(*w)) != 0) f(*w);
  };
  for (NodeId id : graph.order()) each_request(graph.node(id), [&](const NodeRequest& w) { left.erase(key(w)); });
  std::vector<UnmatchedRequest> idle;
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies)
      each_node(*body, false, [&](const Node& n, bool) {
        each_request(n, [&](const NodeRequest& w) {
          const std::string place =
              concat("node '", n.name, "' is in a body of '", graph.node(id).name, "' (",
                     operator_name(*graph.node(id).op), "), which runs on one device with all its bodies");
          if (&w == &by_node_.at(n.name).assignment) fail(w.option, " '", w.text(), "': ", place, ": assign that node");
          idle.push_back({w.option, w.text(), place});
          left.erase(key(w));
        });
        return false;
      });
  for (const auto& [request, node] : left)
    idle.push_back({request.first, request.second, concat("passes removed all work of '", node, "'")});
  return idle;
}

bool NodeRequests::is_one(const Node& node) const {
  const auto it = by_node_.find(node.name);
  return it != by_node_.end() && it->second.nodes == 1;
}

const OpDef* NodeRequests::imported_as(const Node& node) const {
  const auto it = by_node_.find(node.name);
  return it == by_node_.end() ? nullptr : it->second.op;
}

}  // namespace gcg
